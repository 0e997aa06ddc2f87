import fc from 'fast-check'
import { expect, it } from 'vitest'
import { eachContent } from '../../support/contents.ts'
import { type Form, manifestOf, uuidOf } from './manifests.ts'
import { declared, listed } from './support.ts'

/* A writer that missed an answer may commit its transaction again: what it changed would be there twice. */

interface Commit {
  /** Which of the transactions so far is committed again: 0 is the latest one. Undefined for a new one. */
  readonly again: number | undefined
  readonly form: Form
  /** How many versions behind the latest one a new transaction has read. */
  readonly behind: number
  readonly isByPath: boolean
}

const commits = fc.array(
  fc.record<Commit>({
    again: fc.option(fc.nat(70), { nil: undefined, freq: 2 }),
    form: fc.constantFrom('file', 'section', 'both'),
    behind: fc.oneof(fc.nat(3), fc.nat(70)),
    isByPath: fc.boolean(),
  }),
  { minLength: 1, maxLength: 90, size: 'max' },
)

eachContent((open) => {
  it('a transaction of Lance is one version, however often its writer commits it', async () => {
    await fc.assert(
      fc.asyncProperty(commits, async (history) => {
        const { catalog, content } = await open({ managedVersioning: true })
        const dataset = await declared(catalog, content, 't')
        /** What each transaction read, and the versions that it is. */
        const made: { read: number; versions: number[] }[] = []
        let latest = 0
        for (const { again, form, behind, isByPath } of history) {
          const version = latest + 1
          const number = again === undefined ? made.length : made.length - 1 - again
          if (number < 0) continue
          made[number] ??= { read: Math.max(0, latest - behind), versions: [] }
          const transaction = made[number]
          const bytes = manifestOf(version, transaction.read, uuidOf(number), form)
          if (isByPath && again === undefined) {
            await dataset.publish(version, bytes)
          } else {
            const staged = await dataset.stage(version, bytes)
            const answer = catalog.createTableVersion({ id: ['t'], ...staged })
            const before = transaction.versions.filter((found) => found >= version - 64)
            if (before.length > 0) {
              await expect(answer).rejects.toMatchObject({
                code: 'ConcurrentModification',
                message: expect.stringMatching(
                  new RegExp(`transaction ${uuidOf(number)} is version (${before.join('|')}) already\\.`),
                ),
              })
              continue
            }
            await answer
          }
          latest = version
          transaction.versions.push(version)
        }
        expect(await listed(catalog, 't')).toEqual(Array.from({ length: latest }, (_, i) => i + 1))
        // Of those that were refused nothing stays.
        expect((await dataset.manifests()).map(([name]) => name)).toEqual(
          Array.from({ length: latest }, (_, i) => i + 1),
        )
      }),
      { numRuns: 12 },
    )
  })
})
