import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { connect } from '../../src/client/index.ts'
import { type Catalog, CatalogError } from '../../src/tabularium/index.ts'
import { fillDisk, type SmallDisk, smallDisk } from '../contents/small-disk.ts'
import { rowsOf } from '../support/rows.ts'
import { Child } from './child-process.ts'

/** More than the 16 concurrent row changes: the rest waits in a queue, and must fail with the disk error, too. */
const inProcess = 40
const overHttp = 30
/** The most rounds on one table, so that its versions do not fill the disk themselves. */
const roundsEach = 8

/** Many writers of one process, half of them over HTTP, on a disk that repeatedly runs full. */
export class FullDiskRun {
  readonly counts = { rounds: 0, acknowledged: 0, refused: 0 }
  readonly #disk: SmallDisk
  readonly #child: Child
  readonly #remote: Catalog
  #table = ''
  #next = 0
  /** The acknowledged rows of the table, and all attempted ones. */
  #acknowledged: number[] = []
  #tried = new Set<number>()

  private constructor(disk: SmallDisk, child: Child, url: string) {
    this.#disk = disk
    this.#child = child
    this.#remote = connect(url, { token: 'token-of-the-disk', retries: 0 })
  }

  /** Starts a run; undefined if this user may not mount a small disk. */
  static async begin(): Promise<FullDiskRun | undefined> {
    const disk = smallDisk(64 * 2 ** 20)
    if ('reason' in disk) return undefined
    const child = new Child('test/processes/full-disk-child.ts', [join(disk.path, 'catalog')])
    try {
      return new FullDiskRun(disk, child, await child.answer())
    } catch (error) {
      child.stop()
      disk.unmount()
      throw error
    }
  }

  /** Fills the disk up to `free` bytes, writes, frees the disk, and checks the rows. */
  async round(free: number): Promise<void> {
    if (this.counts.rounds++ % roundsEach === 0) await this.#beginTable()
    const filler = join(this.#disk.path, 'filler')
    await fillDisk(filler, free)
    this.#child.write(`${JSON.stringify([this.#table, this.#next, inProcess])}\n`)
    const numbers = this.#take(inProcess + overHttp)
    const remote = await Promise.all(numbers.slice(inProcess).map((n) => this.#insert(n)))
    const local = JSON.parse(await this.#child.answer()) as string[]
    await rm(filler)
    for (const [i, code] of [...local, ...remote].entries()) {
      if (code === 'done') this.#acknowledge(numbers[i]!)
      else {
        expect(code).toBe('ServiceUnavailable')
        this.counts.refused++
      }
    }
    await this.#check()
  }

  /** Stops the process, which must still run. */
  async end(): Promise<void> {
    try {
      this.#child.end()
      await this.#child.ended()
    } finally {
      await this.#remote.close()
      this.#child.stop()
      this.#disk.unmount()
    }
  }

  async #beginTable(): Promise<void> {
    if (this.#table !== '') await this.#remote.dropTable({ id: [this.#table] })
    this.#table = `t${this.counts.rounds}`
    this.#acknowledged = []
    this.#tried = new Set()
    const [n] = this.#take(1)
    await this.#remote.createTable({ id: [this.#table], data: [{ n, note: 'the first' }] })
    this.#acknowledge(n!)
  }

  #acknowledge(n: number): void {
    this.#acknowledged.push(n)
    this.counts.acknowledged++
  }

  #take(count: number): number[] {
    const numbers = Array.from({ length: count }, () => this.#next++)
    for (const n of numbers) this.#tried.add(n)
    return numbers
  }

  #insertRow(n: number) {
    return this.#remote.insertIntoTable({ id: [this.#table], data: [{ n, note: `row ${n}` }] })
  }

  async #insert(n: number): Promise<string> {
    try {
      await this.#insertRow(n)
      return 'done'
    } catch (error) {
      return error instanceof CatalogError ? error.code : String(error)
    }
  }

  /** Checks that writes work after space is freed, and that each acknowledged row is there once. */
  async #check(): Promise<void> {
    const [n] = this.#take(1)
    await this.#insertRow(n!)
    this.#acknowledge(n!)
    const present = (await rowsOf(this.#remote, [this.#table], { columns: ['n'] })).map(
      ({ n }) => n as number,
    )
    expect(new Set(present).size).toBe(present.length)
    const there = new Set(present)
    expect(this.#acknowledged.filter((number) => !there.has(number))).toEqual([])
    expect(present.filter((number) => !this.#tried.has(number))).toEqual([])
  }
}
