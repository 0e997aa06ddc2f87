import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { scriptPath } from '../support/scripts.ts'
import { kinds } from './memory-kinds.ts'

const mebibyte = 1024 * 1024

/** Does work of a kind in a process of its own, and returns what that writes. */
async function outputOf(kind: string): Promise<string> {
  const run = promisify(execFile)
  const { stdout } = await run(process.execPath, [scriptPath('test/table/children/memory.ts'), kind])
  return stdout.trim()
}

/** The most bytes that work of a kind held at one time. */
const peaksOf = async (kind: string) => (await outputOf(kind)).split(' ').map(Number)

it.each(kinds)('%s takes no more memory when a table is four times as large', async (kind) => {
  const [small, large] = (await peaksOf(kind)) as [number, number]
  // The larger table has 12 MiB more of texts alone. How many fragments are under way at once depends on the disk: what
  // the same work holds at most differs by 5 MiB from time to time.
  expect(large - small).toBeLessThan(7 * mebibyte)
  expect(large).toBeLessThan(16 * mebibyte)
})

it('an update to very long texts holds those of one fragment, and not all that it makes', async () => {
  const [most] = (await peaksOf('long values')) as [number]
  // A fragment of new rows has at most 128 MiB, and all texts have 384.
  expect(most).toBeLessThan(330 * mebibyte)
})

it('a column that is too long for the file of a fragment is refused, with a way that works', async () => {
  expect(await outputOf('a column that is too long')).toMatch(
    /column "more" are too long: .* more than 536,870,912 bytes.* add the column without values and then update/,
  )
})
