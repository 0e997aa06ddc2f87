import assert from 'node:assert/strict'
import type { CommittedChange, WatchRequest } from '../../../catalog/index.ts'
import { refused } from '../checks.ts'
import { rule, type Topic } from '../suite.ts'
import { type CatalogTrial, changeAll } from './trial.ts'

const source = 'docs/changes.md'
const needs = ['watch']

/** How long a case waits for a change that does not come, in milliseconds. */
const patience = 20_000

type Watched = CatalogTrial & { readonly watch: NonNullable<CatalogTrial['catalog']['watch']> }

/** A rule for catalogs that have `watch`. The member is optional, as `rows` and `tables` are. */
function watchRule(id: string, text: string, body: (trial: Watched) => Promise<void>) {
  return rule(id, source, text, needs, async (trial: CatalogTrial) => {
    const { catalog } = trial
    if (catalog.watch === undefined) return
    await body({ ...trial, watch: (request) => catalog.watch!(request) })
  })
}

/** The commits in the case's namespace after a token, up to the change of a subject. */
async function upTo({ watch, home }: Watched, since: string, last: string): Promise<CommittedChange[]> {
  const signal = AbortSignal.timeout(patience)
  const request: WatchRequest = { id: home, since, signal }
  const found: CommittedChange[] = []
  try {
    for await (const change of watch(request)) {
      found.push(change)
      if (change.changes.some(({ id }) => id.at(-1) === last)) return found
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
  return assert.fail(`The change of ${last} did not come. These did: ${told(found).join(', ')}.`)
}

/** Each change as a text: the effect, the name, and the versions. */
function told(changes: readonly CommittedChange[]): string[] {
  return changes.flatMap((committed) =>
    committed.changes.map(({ effect, id, versions = [] }) => {
      const spans = versions.map(({ first, last }) => ` ${first}-${last}`)
      return `${effect} ${id.at(-1)}${spans.join('')}`
    }),
  )
}

/** The current token. */
async function now({ watch, home }: Watched): Promise<string> {
  const changes = watch({ id: home })
  try {
    return await changes.token()
  } finally {
    await changes.return()
  }
}

export const watching: Topic<CatalogTrial> = {
  name: 'changes as they are committed',
  cases: [
    watchRule(
      'watch.once',
      'Where there is watch(), it gives each commit once, in the order of the commits, and nothing that was refused.',
      async (trial) => {
        const { catalog, id } = trial
        const since = await now(trial)
        await catalog.createNamespace({ id: id('n') })
        await catalog.declareTable({ id: id('n', 'a') })
        await refused(catalog.declareTable({ id: id('n', 'a') }), 'TableAlreadyExists')
        await refused(catalog.declareTable({ id: id('x', 'a') }), 'NamespaceNotFound')
        await catalog.createTableVersion({ id: id('n', 'a'), version: 1, manifest_path: 'm' })
        await catalog.dropNamespace({ id: id('n'), behavior: 'Cascade' })
        await catalog.declareTable({ id: id('last') })
        const found = await upTo(trial, since, 'last')
        const expected = ['created n', 'created a', 'changed a 1-1', 'removed n', 'created last']
        assert.deepEqual(
          told(found).filter((text) => text !== 'removed a'),
          expected,
        )
        for (const { token, timestamp_millis, transaction_id } of found) {
          assert.equal(typeof token, 'string')
          assert.equal(typeof transaction_id, 'string')
          assert.ok(Number.isSafeInteger(timestamp_millis))
        }
        assert.equal(new Set(found.map(({ token }) => token)).size, found.length)
      },
    ),
    watchRule(
      'watch.resume',
      'The token of a change is the place behind it: a watch from there gives what follows, and the change no more.',
      async (trial) => {
        const since = await now(trial)
        const names = ['a', 'b', 'c', 'd']
        for (const name of names) await trial.catalog.declareTable({ id: trial.id(name) })
        const found = await upTo(trial, since, 'd')
        for (const [i, { token }] of found.slice(0, -1).entries())
          assert.deepEqual(await upTo(trial, token, 'd'), found.slice(i + 1))
        await trial.catalog.declareTable({ id: trial.id('e') })
        assert.deepEqual(told(await upTo(trial, found.at(-1)!.token, 'e')), ['created e'])
      },
    ),
    watchRule(
      'watch.order',
      'What is committed at once comes in one order to all who watch, each commit once.',
      async (trial) => {
        const since = await now(trial)
        const names = Array.from({ length: 24 }, (_, i) => `t${i}`)
        const both = [upTo(trial, since, 'last'), upTo(trial, since, 'last')]
        await Promise.all(names.map((name) => trial.catalog.declareTable({ id: trial.id(name) })))
        await trial.catalog.declareTable({ id: trial.id('last') })
        const [one, other] = (await Promise.all(both)).map(told)
        assert.deepEqual(one, other)
        assert.deepEqual([...one!].sort(), [...names, 'last'].map((name) => `created ${name}`).sort())
        assert.deepEqual(told(await upTo(trial, since, 'last')), one)
      },
    ),
    watchRule(
      'watch.subject',
      'A watch with an id gives changes of that, and of what is below it.',
      async (trial) => {
        const { catalog, id, home } = trial
        await catalog.createNamespace({ id: id('in') })
        await catalog.createNamespace({ id: id('out') })
        const since = await now(trial)
        await catalog.declareTable({ id: id('in', 'a') })
        await catalog.declareTable({ id: id('out', 'b') })
        await catalog.declareTable({ id: id('in', 'last') })
        const found = await upTo({ ...trial, home: [...home, 'in'] }, since, 'last')
        assert.deepEqual(told(found), ['created a', 'created last'])
      },
    ),
    watchRule(
      'watch.own',
      'An event is the caller’s to change, in all its parts, and nothing else changes with it.',
      async (trial) => {
        const since = await now(trial)
        await trial.catalog.declareTable({ id: trial.id('t') })
        await trial.catalog.createTableVersion({ id: trial.id('t'), version: 1, manifest_path: 'm' })
        await trial.catalog.declareTable({ id: trial.id('last') })
        const found = await upTo(trial, since, 'last')
        const before = structuredClone(found)
        changeAll(found)
        assert.deepEqual(await upTo(trial, since, 'last'), before)
      },
    ),
    watchRule('watch.token', 'What is no token is refused with InvalidInput.', async (trial) => {
      for (const since of ['', 'none', 'WyJ4Il0'])
        await refused(trial.watch({ since, signal: AbortSignal.timeout(patience) }).next(), 'InvalidInput')
    }),
  ],
}
