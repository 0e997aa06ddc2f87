import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Whether Lance's package is installed, with its binary for this platform. */
function isInstalled(): boolean {
  try {
    return readdirSync(join(root, 'node_modules/@lancedb')).some((name) => name.startsWith('lancedb-'))
  } catch {
    return false
  }
}

/**
 * The test files that cannot be loaded without Lance's package, if that is not installed: some try its clients, and others
 * compare with it. Says on the console that they are left out. Other tests of it are skipped by themselves.
 */
export function leftOutWithoutLance(): string[] {
  if (isInstalled()) return []
  const known = new Map<string, boolean>()
  const needs = (file: string): boolean => {
    const found = known.get(file)
    if (found !== undefined) return found
    known.set(file, false)
    const isNeeded = importsIn(file).some((from) =>
      from.startsWith('.') ? needs(resolve(dirname(file), from)) : from === '@lancedb/lancedb',
    )
    known.set(file, isNeeded)
    return isNeeded
  }
  const tests = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
  const left = tests
    .filter((path) => path.endsWith('.test.ts'))
    .map((path) => join(root, 'test', path))
    .filter(needs)
    .map((file) => relative(root, file).replaceAll('\\', '/'))
    .sort()
  console.warn(
    `Lance's package is not installed: npm install @lancedb/lancedb brings it. Left out without it: ${left.join(', ')}.`,
  )
  return left
}

/** What a file of the tests imports. Types are not there when it runs, and the package itself needs no Lance. */
function importsIn(file: string): string[] {
  // Texts of tests have imports, too.
  if (!file.startsWith(join(root, 'test')) || !existsSync(file)) return []
  const found = readFileSync(file, 'utf8').matchAll(/^(?:import|export) (?!type\b)[^;']*?from '([^']+)'/gm)
  return Array.from(found, ([, from]) => from!)
}
