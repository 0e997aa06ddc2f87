import { readdir, readFile, stat } from 'node:fs/promises'

/**
 * Describes the process that holds the lock of a file's first byte: its id, its command, and whether it is stopped.
 * Undefined when the kernel does not report it: on other systems than Linux, and for processes of other users or in
 * other containers. Source of the format: proc_pid_fdinfo(5).
 */
export async function lockHolder(path: string): Promise<string | undefined> {
  const { ino } = await stat(path).catch(() => ({ ino: undefined }))
  const held = new RegExp(
    `^lock:\\s+\\d+: OFDLCK\\s+\\S+\\s+(\\S+)\\s+-?\\d+\\s+\\S+:${ino}\\s+(\\d+)\\s`,
    'gm',
  )
  let stopped: string | undefined
  for (const id of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(id)) continue
    const locks = await locksOf(id, held)
    if (locks.some(([, mode, first]) => mode === 'WRITE' && first === '0')) return describe(id)
    // A process that was stopped while it polled keeps a lock that was meant for a moment.
    if (locks.length > 0 && (await isStopped(id))) stopped = id
  }
  return stopped && describe(stopped)
}

async function locksOf(id: string, held: RegExp): Promise<RegExpExecArray[]> {
  const folder = `/proc/${id}/fdinfo`
  const locks: RegExpExecArray[] = []
  // The file may be closed, or the process may end, between two reads.
  for (const file of await readdir(folder).catch(() => [])) {
    locks.push(...(await readFile(`${folder}/${file}`, 'utf8').catch(() => '')).matchAll(held))
  }
  return locks
}

async function isStopped(id: string): Promise<boolean> {
  return /^State:\s+[Tt]\b/m.test(await readFile(`/proc/${id}/status`, 'utf8').catch(() => ''))
}

async function describe(id: string): Promise<string> {
  const command = await readFile(`/proc/${id}/cmdline`, 'utf8').catch(() => '')
  const words = command.replace(/\0+$/, '').split('\0').join(' ').slice(0, 120)
  return `process ${id}${words && ` (${words})`}${(await isStopped(id)) ? ', which is stopped' : ''}`
}
