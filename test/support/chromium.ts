import { existsSync } from 'node:fs'

const candidates = [
  process.env.CHROMIUM,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
]

/** The path of Chromium: Debian's package, or the one in CHROMIUM. Without one, prints which tests are skipped. */
export function chromiumPath(tests: string): string | undefined {
  const found = candidates.find((path) => path && existsSync(path))
  if (found === undefined)
    console.warn(`${tests} are skipped: no Chromium. Install it, or name it in CHROMIUM.`)
  return found
}
