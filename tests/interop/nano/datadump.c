/* A device part that does nothing: the simulated runtime sees what is sent to it. */
int InitDataDump(void) {
  return 0;
}
int StopDataDump(void) {
  return 0;
}
