import { existsSync } from 'node:fs'

const candidates = [
  process.env.CHROMIUM,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
]

/** Where Chromium lies: as Debian packages it, or the one that CHROMIUM names. Says which tests are skipped without. */
export function chromiumPath(tests: string): string | undefined {
  const found = candidates.find((path) => path && existsSync(path))
  if (found === undefined)
    console.warn(`${tests} are skipped: no Chromium. Install it, or name it in CHROMIUM.`)
  return found
}
