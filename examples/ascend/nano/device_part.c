/* In place of libdatadump.so, which takes the messages on a board and writes the files: board.c sees the messages
   here. */
int InitDataDump(void);
int InitDataDump(void) {
  return 0;
}

int StopDataDump(void);
int StopDataDump(void) {
  return 0;
}
