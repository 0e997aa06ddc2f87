import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { freshFolder } from '../../support/catalogs.ts'
import { describeWith } from '../../support/describe-with.ts'
import { Draw } from '../../support/draw.ts'
import { parquetPython } from '../../support/parquet-clients.ts'
import { scriptPath } from '../../support/scripts.ts'
import { limitEach } from '../../support/time-limit.ts'
import { damages } from './damage/damaged.ts'

/*
 * Thousands of damaged files: what is read of them is what pyarrow reads. Where pyarrow refuses a file, so does the
 * reader, or the damage is in what nobody needs for the rows.
 */

limitEach(600)

const run = promisify(execFile)
const oracle = fileURLToPath(new URL('damage/oracle.py', import.meta.url))
const seed = Number(process.env.FC_SEED ?? 20_261_120)
const perFile = 8

async function askOracle(python: string, ...args: string[]): Promise<string> {
  return (await run(python, [oracle, ...args], { maxBuffer: 1 << 28 })).stdout
}

interface Told {
  readonly files: number
  readonly refused: number
  readonly faults: readonly string[]
  readonly peak: number
}

/** Reads all files of a folder in a process of its own, as it may die of them. */
async function readAll(folder: string): Promise<Told> {
  const child = [scriptPath('test/engine/parquet/children/read-damaged.ts'), folder]
  return JSON.parse((await run(process.execPath, child, { maxBuffer: 1 << 26 })).stdout)
}

describeWith('damaged Parquet files', await parquetPython(), ({ python }) => {
  it('are refused, or have the rows that pyarrow reads, within the memory of sound ones', async () => {
    const folder = await freshFolder()
    await askOracle(python, 'write', folder, String(seed))
    const sound = readdirSync(folder).map((name) => new Uint8Array(readFileSync(join(folder, name))))
    const names = readdirSync(folder).map((name) => name.replace('.sound', ''))
    expect(names.length).toBeGreaterThan(40)

    // The same files again and again, so that the process has as much garbage as that of the damaged ones.
    const plain = join(folder, 'plain')
    await mkdir(plain)
    const rounds = perFile * Object.keys(damages).length
    for (let i = 0; i < rounds; i++)
      for (const [at, file] of sound.entries()) writeFileSync(join(plain, `${i}-${at}.parquet`), file)
    const usual = await readAll(plain)
    expect(usual).toMatchObject({ refused: 0, faults: [] })

    const told = new Map<string, string>()
    const draw = new Draw(seed)
    for (const [kind, damage] of Object.entries(damages)) {
      for (const [at, file] of sound.entries()) {
        for (let i = 0; i < perFile; i++) {
          const made = damage(file, draw)
          const name = `${kind}-${names[at]}-${i}`
          told.set(name, made.told)
          writeFileSync(join(folder, `${name}.parquet`), made.file)
        }
      }
    }
    const ours = await readAll(folder)
    expect(ours.faults).toEqual([])
    expect(ours.refused).toBeGreaterThan(ours.files / 4)
    expect(ours.refused).toBeLessThan((ours.files * 3) / 4)
    // The budget of a reader is 16 MiB.
    expect(ours.peak).toBeLessThan(usual.peak + 64)

    const verdicts: Record<string, string> = JSON.parse(await askOracle(python, 'check', folder))
    expect(Object.keys(verdicts)).toHaveLength(ours.files)
    const wrong = Object.entries(verdicts).filter(([, verdict]) => verdict.startsWith('wrong'))
    expect(wrong.map(([name, verdict]) => `${name}, ${told.get(name)}: ${verdict}`)).toEqual([])
  })
})
