import { readdir, readFile, stat } from 'node:fs/promises'

/**
 * Names the process that holds an exclusive lock on the first byte of a file, as the kernel tells it: its id, what
 * it runs, and whether it is stopped. Undefined when the kernel does not tell: elsewhere than on Linux, of other
 * users' processes, and of those in other containers. Source of the format: proc_pid_fdinfo(5).
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
  // A file may be closed, and a process end, between two looks.
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
