import { access, mkdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const ownCache = fileURLToPath(new URL('../../node_modules/.cache', import.meta.url))

/**
 * A folder in `node_modules/.cache`, or in another cache, that `make` fills once, in the first process that needs it.
 * Others wait. An incomplete folder is made again.
 */
export async function madeOnce(
  name: string,
  make: (folder: string) => Promise<void>,
  cache = ownCache,
): Promise<string> {
  const folder = `${cache}/${name}`
  const lock = `${folder}.lock`
  for (;;) {
    if (await exists(`${folder}/ready`)) return folder
    await mkdir(cache, { recursive: true })
    if (await mkdir(lock).then(isDone, isNotDone)) break
    const { mtimeMs } = await stat(lock).catch(() => ({ mtimeMs: Date.now() }))
    // The process that made it was killed, since a living one touches its lock.
    if (Date.now() - mtimeMs > 300_000) await rm(lock, { recursive: true, force: true })
    await sleep(200)
  }
  const touching = setInterval(() => {
    const now = new Date()
    utimes(lock, now, now).catch(isDone)
  }, 30_000).unref()
  try {
    if (await exists(`${folder}/ready`)) return folder
    await rm(folder, { recursive: true, force: true })
    await make(folder)
    await writeFile(`${folder}/ready`, '')
    return folder
  } finally {
    clearInterval(touching)
    await rm(lock, { recursive: true, force: true })
  }
}

const isDone = () => true
const isNotDone = () => false

function exists(path: string): Promise<boolean> {
  return access(path).then(isDone, isNotDone)
}
