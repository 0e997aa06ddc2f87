import { readdir, readFile, stat } from 'node:fs/promises'

/**
 * Describes the process with an exclusive lock on the first byte of a file: its id, its command, and whether it is
 * stopped. Undefined when the kernel does not tell: on other systems than Linux, for processes of other users, and for
 * processes in other containers. Source of the format: proc_pid_fdinfo(5).
 */
export async function lockHolder(path: string): Promise<string | undefined> {
  const { ino } = await stat(path)
  const held = new RegExp(
    `^lock:\\s+\\d+: OFDLCK\\s+\\S+\\s+WRITE\\s+-?\\d+\\s+\\S+:${ino}\\s+0\\s+(?:0|EOF)$`,
    'm',
  )
  for (const process of await readdir('/proc').catch(() => [])) {
    if (/^\d+$/.test(process) && (await holds(process, held))) return describe(process)
  }
  return undefined
}

async function holds(process: string, held: RegExp): Promise<boolean> {
  const folder = `/proc/${process}/fdinfo`
  // The file may be closed, or the process may end, between two reads.
  for (const file of await readdir(folder).catch(() => [])) {
    if (held.test(await readFile(`${folder}/${file}`, 'utf8').catch(() => ''))) return true
  }
  return false
}

async function describe(id: string): Promise<string> {
  const command = await readFile(`/proc/${id}/cmdline`, 'utf8').catch(() => '')
  const status = await readFile(`/proc/${id}/status`, 'utf8').catch(() => '')
  const words = command.replace(/\0+$/, '').split('\0').join(' ').slice(0, 120)
  const isStopped = /^State:\s+[Tt]\b/m.test(status)
  return `process ${id}${words && ` (${words})`}${isStopped ? ', which is stopped' : ''}`
}
