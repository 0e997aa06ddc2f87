import { execFile } from 'node:child_process'
import { copyFile, mkdir, readFile, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { freshFolder } from '../../support/catalogs.ts'
import { scriptPath } from '../../support/scripts.ts'

const run = promisify(execFile)
const pageSize = 4096

/** Files to damage; `TABULARIUM_DAMAGED` asks for more. */
const count = Number(process.env.TABULARIUM_DAMAGED ?? 12)

async function sound(): Promise<string> {
  const folder = await freshFolder()
  const catalog = await openCatalog(folder)
  const operations = Array.from({ length: 400 }, (_, i) => ({ declare_table: { id: [`t${i}`] } }))
  await catalog.batchCommitTables({ operations })
  for (let i = 0; i < 20; i++)
    await catalog.declareTable({ id: [`u${i}`], properties: { note: 'x'.repeat(9_000) } })
  await catalog.close()
  return join(folder, 'catalog.mdb')
}

/** How a process fared that opened a catalog: what it told, or what ended it. */
async function openIn(folder: string): Promise<string> {
  return run(process.execPath, [scriptPath('test/stores/children/open-damaged.ts'), folder]).then(
    ({ stdout }) => stdout,
    (error: { signal?: string; code?: number }) => `ended by ${error.signal ?? error.code}`,
  )
}

async function damagedCopy(original: string, damage: (file: string, bytes: Buffer) => Promise<void>) {
  const folder = join(await freshFolder(), 'catalog')
  await mkdir(folder)
  const file = join(folder, 'catalog.mdb')
  await copyFile(original, file)
  await damage(file, await readFile(file))
  return folder
}

/** Which root page the newest of the two first pages names, and where the file says so. */
function newestRoot(bytes: Buffer): { meta: number; root: number } {
  const at = (index: number) => bytes.readBigUInt64LE(index * pageSize + 152)
  const meta = (at(1) > at(0) ? 1 : 0) * pageSize
  return { meta, root: Number(bytes.readBigUInt64LE(meta + 136)) * pageSize }
}

it.each<[string, (bytes: Buffer) => void]>([
  ['a root page that is empty', (b) => b.fill(0, newestRoot(b).root, newestRoot(b).root + pageSize)],
  ['a root page of ones', (b) => b.fill(0xff, newestRoot(b).root, newestRoot(b).root + pageSize)],
  ['a root page with wild bounds', (b) => void b.writeUInt16LE(0xfffe, newestRoot(b).root + 20)],
  [
    'a root page that names pages beyond the end',
    (b) => void b.fill(0xee, newestRoot(b).root + 4000, newestRoot(b).root + 4096),
  ],
  ['a root beyond the end', (b) => void b.writeBigUInt64LE(1_000_000n, newestRoot(b).meta + 136)],
  ['a wild page size', (b) => void b.writeUInt32LE(77, 48)],
  ['another page size on the second page', (b) => void b.writeUInt32LE(8192, pageSize + 48)],
  ['a wild depth', (b) => void b.writeUInt16LE(99, newestRoot(b).meta + 102)],
])('a file with %s is refused, and ends no process', async (_what, damage) => {
  const folder = await damagedCopy(await sound(), async (file, bytes) => {
    damage(bytes)
    await writeFile(file, bytes)
  })
  expect(await openIn(folder)).toMatch(/^(Internal|InvalidInput): Cannot use .*(damaged|not an LMDB)/)
})

it('a file that was cut short is refused, or still whole', async () => {
  const original = await sound()
  for (const pages of [1, 2, 3, 10]) {
    const folder = await damagedCopy(original, (file) => truncate(file, pages * pageSize))
    expect(await openIn(folder)).toMatch(/^(Internal|InvalidInput): /)
  }
})

it(`${count} files with random damage end no process`, { timeout: 20_000 + count * 3_000 }, async () => {
  const original = await sound()
  const outcomes: Record<string, number> = {}
  const crashes: string[] = []
  let state = 20261122
  const random = (below: number) => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff
    return state % below
  }
  for (let n = 0; n < count; n++) {
    let what = ''
    const folder = await damagedCopy(original, async (file, bytes) => {
      const page = random(bytes.length / pageSize) * pageSize
      const kind = random(3)
      const at = page + random(pageSize)
      what = `${kind} at ${at}`
      if (kind === 0) bytes[at]! ^= 1 << random(8)
      else if (kind === 1) bytes.fill(random(256), at, Math.min(page + pageSize, at + 64))
      else bytes.fill(0, page, page + pageSize)
      await writeFile(file, bytes)
    })
    const outcome = await openIn(folder)
    const short = outcome.startsWith('ended') ? outcome : outcome.split(':')[0]!
    outcomes[short] = (outcomes[short] ?? 0) + 1
    if (short.startsWith('ended')) crashes.push(`${what}: ${outcome}`)
  }
  if (count > 100) console.log(outcomes, crashes)
  expect(crashes).toEqual([])
})
