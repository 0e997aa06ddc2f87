/** What is wrong with a file or program that cannot be used. `missing` says what is not there. */
export function fileFault(error: unknown, missing = 'there is no such file'): string {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ENOENT') return missing
  return (code !== undefined && faults[code]) || message
}

const faults: Readonly<Record<string, string>> = {
  ENOTDIR: 'a part of its path is a file',
  EISDIR: 'it is a folder',
  ENOSPC: 'the disk is full',
  EACCES: 'this user may not do that; change its permissions',
}
