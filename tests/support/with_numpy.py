"""`from with_numpy import numpy`: NumPy, or None where there is none."""
from system_python import import_here_or_there

numpy = import_here_or_there('numpy')
