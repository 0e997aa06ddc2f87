import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { LocalCatalog } from '../../../src/tabularium/index.ts'
import { limitEach } from '../../support/time-limit.ts'
import { manifestOf, uuidOf } from './manifests.ts'
import { declared, listed, nameOf, twoCatalogs } from './support.ts'

// Two catalogs make dozens of histories, one write after the other.
limitEach(60)

/*
 * Another program takes the number of a version while the catalog publishes it, its writer gives up and removes what it
 * staged, and the process dies. The manifest counts, and nothing else is acknowledged or described.
 */

interface Step {
  /** Publishes the next version without asking the catalog. */
  readonly isByPath: boolean
  readonly dies: 'never' | 'before' | 'after'
  /** Whether the writer gave up before the manifest got its final name, as Lance does when an answer is lost. */
  readonly givesUp: boolean
  readonly isTaken: boolean
  /** How many bytes longer the manifest of the other program is. */
  readonly longer: number
  /** Whether the other process is asked in between. */
  readonly isAsked: boolean
  readonly isByOther: boolean
}

const steps = fc.array(
  fc.record<Step>({
    isByPath: fc.boolean(),
    dies: fc.constantFrom('never', 'before', 'after'),
    givesUp: fc.boolean(),
    isTaken: fc.boolean(),
    longer: fc.constantFrom(0, 0, 3, -3),
    isAsked: fc.boolean(),
    isByOther: fc.boolean(),
  }),
  { minLength: 1, maxLength: 8 },
)

it('the manifest of a version is the one that was acknowledged, and the one that is described', async () => {
  let lost = 0
  let acknowledged = 0
  await fc.assert(
    fc.asyncProperty(steps, async (history) => {
      const { failing, other, before, content } = await twoCatalogs()
      const dataset = await declared(other, content, 't')
      let transaction = 0
      const made = (version: number, longer: number) =>
        manifestOf(version, version - 1, uuidOf(transaction++), 'both', ' '.repeat(3 + longer))
      // Lance writes the rows of a version first. Without any file, the disk may be absent, and records stay.
      await content.put(`${dataset.prefix}data/rows.lance`, new Uint8Array(1))
      const held = async () => {
        const found = new Map<number, Buffer>()
        for (const [name] of await dataset.manifests()) {
          if (typeof name !== 'number') continue
          const path = `${dataset.prefix}_versions/${nameOf(name)}`
          found.set(name, Buffer.from((await content.get(path))!))
        }
        return found
      }
      const agrees = async (catalog: LocalCatalog) => {
        expect(await listed(catalog, 't')).toEqual([...(await held()).keys()])
        for (const [version, bytes] of await held()) {
          const described = await catalog.describeTableVersion({ id: ['t'], version })
          expect(described.version.manifest_size).toBe(bytes.length)
        }
      }
      for (const step of history) {
        const version = (await held()).size + 1
        const bytes = made(version, 0)
        if (step.isByPath) {
          await dataset.publish(version, bytes)
          continue
        }
        const staged = await dataset.stage(version, bytes)
        before.link = async (from, to) => {
          delete before.link
          if (step.dies === 'after') await content.shared!.link(from, to)
          if (step.givesUp) await content.remove(from)
          if (step.isTaken && !(await held()).has(version))
            await dataset.publish(version, made(version, step.longer))
          if (step.dies !== 'never') throw new Error('killed')
        }
        const catalog = step.isByOther ? other : failing
        const isMade = await catalog.createTableVersion({ id: ['t'], ...staged }).then(
          () => true,
          () => false,
        )
        delete before.link
        if (isMade) acknowledged++
        const isThere = (await held()).get(version)?.equals(bytes) === true
        if (isMade) expect(isThere).toBe(true)
        else if (!isThere) lost++
        if (step.isAsked) await agrees(other)
      }
      await agrees(failing)
      await agrees(other)
    }),
    { numRuns: 80 },
  )
  expect(acknowledged).toBeGreaterThan(20)
  expect(lost).toBeGreaterThan(20)
})
