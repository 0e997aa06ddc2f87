import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { scriptPath } from '../../support/scripts.ts'
import { limitEach } from '../../support/time-limit.ts'
import { kinds, type LongValues } from './memory-kinds.ts'

// Tables of a hundred megabytes are changed.
limitEach(120)

const mebibyte = 1024 * 1024

/** Does work of a kind in a process of its own, and returns what that writes. */
async function outputOf(kind: string, shape?: LongValues): Promise<string> {
  const run = promisify(execFile)
  const { stdout } = await run(process.execPath, [
    scriptPath('test/engine/table/children/memory.ts'),
    kind,
    JSON.stringify(shape ?? null),
  ])
  return stdout.trim()
}

/** The most bytes that work of a kind held at one time. */
const peaksOf = async (kind: string, shape?: LongValues) =>
  (await outputOf(kind, shape)).split(' ').map(Number)

it.each(kinds)('%s takes no more memory when a table is four times as large', async (kind) => {
  const [small, large] = (await peaksOf(kind)) as [number, number]
  // The larger table has 12 MiB more of texts alone. How many fragments are under way at once depends on the disk: what
  // the same work holds at most differs by 5 MiB from time to time.
  expect(large - small).toBeLessThan(7 * mebibyte)
  expect(large).toBeLessThan(16 * mebibyte)
})

it.each([
  // Of 384 MiB or more in all.
  ...[1_000_000, 64_000, 4_000].map((length) => ({
    updates: 1,
    columns: 1,
    rows: Math.ceil((384 * mebibyte) / length),
    length,
  })),
  ...[3, 40].map((columns) => ({
    updates: 1,
    columns,
    rows: Math.ceil((384 * mebibyte) / 1_000_000 / columns),
    length: 1_000_000,
  })),
])('an update to very long texts holds some of them, and not all: %j', async (shape) => {
  const [most] = (await peaksOf('long values', shape)) as [number]
  expect(most).toBeLessThan(150 * mebibyte)
})

it('updates to very long texts that go on at once share the memory of their values', async () => {
  const shape = { updates: 6, columns: 1, rows: 200, length: 1_000_000 }
  const [most] = (await peaksOf('long values', shape)) as [number]
  expect(most).toBeLessThan(300 * mebibyte)
})

it('a column that is too long for the file of a fragment is refused, with a way that works', async () => {
  expect(await outputOf('a column that is too long')).toMatch(
    /column "more" are too long: .* more than 134,217,728 bytes.* add the column without values and then update/,
  )
})
