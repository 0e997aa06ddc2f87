import assert from 'node:assert/strict'
import { rule, type Topic } from '../suite.ts'
import {
  type Answered,
  commit,
  committed,
  createTable,
  failed,
  good,
  type IcebergTrial,
  loadTable,
  snapshotUpdates,
  tableAt,
  unchanged,
} from './trial.ts'

/** Java's largest long, and one that doubles round. */
const largest = 9_223_372_036_854_775_807n
const unsafe = 9_007_199_254_740_993n

export const commits: Topic<IcebergTrial> = {
  name: 'commits',
  cases: [
    rule(
      'iceberg.digits',
      'Iceberg, 64-bit integers',
      'Ids of 64 bits keep all their digits, in metadata, references and requirements.',
      [],
      async (trial) => {
        await createTable(trial, 't')
        await committed(trial, 't', snapshotUpdates(unsafe))
        const more = snapshotUpdates(largest, { parent: unsafe, sequence: 2 })
        const requirement = (id: bigint) => ({
          ...{ type: 'assert-ref-snapshot-id', ref: 'main', 'snapshot-id': id },
        })
        failed(await commit(trial, 't', more, [requirement(unsafe - 1n)]), 409, 'CommitFailedException')
        await committed(trial, 't', more, [requirement(unsafe)])
        const { text } = await trial.ask('GET', tableAt(trial, 't'))
        for (const id of [unsafe, largest]) assert.match(text, new RegExp(`"snapshot-id"\\s*:\\s*${id}\\b`))
        assert.match(text, new RegExp(`"current-snapshot-id"\\s*:\\s*${largest}\\b`))
        assert.match(text, new RegExp(`"parent-snapshot-id"\\s*:\\s*${unsafe}\\b`))
      },
    ),
    rule(
      'iceberg.metadata-file',
      'Iceberg, metadata files',
      'Each commit has a metadata file of its own, and the log names those before it in their order.',
      [],
      async (trial) => {
        const locations = [(await createTable(trial, 't'))['metadata-location']]
        for (const id of [1, 2, 3]) {
          await committed(trial, 't', snapshotUpdates(id, { sequence: id }))
          const { metadata, 'metadata-location': location } = await loadTable(trial, 't')
          const log = metadata['metadata-log'].map((one: Answered) => one['metadata-file'])
          assert.deepEqual(log, locations)
          assert.ok(!locations.includes(location))
          locations.push(location)
        }
      },
    ),
    rule(
      'iceberg.snapshot-log',
      'Iceberg, snapshot-log',
      'The log has each snapshot that main had, in their order.',
      [],
      async (trial) => {
        await createTable(trial, 't')
        for (const id of [1, 2, 3]) await committed(trial, 't', snapshotUpdates(id, { sequence: id }))
        const { metadata } = await loadTable(trial, 't')
        const log = metadata['snapshot-log'].map((one: Answered) => one['snapshot-id'])
        assert.deepEqual(log, [1, 2, 3])
      },
    ),
    rule(
      'iceberg.commit-nothing',
      'Iceberg REST, updateTable',
      'A commit without updates changes nothing, and is answered with the table.',
      [],
      async (trial) => {
        const { metadata } = await createTable(trial, 't')
        await unchanged(trial, ['t'], async () => {
          const answer = good(await commit(trial, 't', []))
          assert.equal(answer.metadata['table-uuid'], metadata['table-uuid'])
        })
      },
    ),
    rule(
      'iceberg.commits-at-once',
      'Iceberg REST, updateTable',
      'Of commits at once, each that is answered with 200 is there, and no other.',
      [],
      async (trial) => {
        await createTable(trial, 't')
        const keys = Array.from({ length: 8 }, (_, i) => `k${i}`)
        const replies = await Promise.all(
          keys.map((key) => commit(trial, 't', [{ action: 'set-properties', updates: { [key]: 'yes' } }])),
        )
        for (const reply of replies.filter(({ status }) => status !== 200))
          failed(reply, [409, 503], 'CommitFailedException', 'ServiceUnavailableException')
        const { properties } = (await loadTable(trial, 't')).metadata
        const made = keys.filter((_, i) => replies[i]!.status === 200)
        assert.ok(made.length > 0)
        assert.deepEqual(
          keys.filter((key) => key in properties),
          made,
        )
      },
    ),
    rule(
      'iceberg.one-wins',
      'Iceberg REST, requirements',
      'Of commits at once that require the same state, one is made, and the others are 409.',
      [],
      async (trial) => {
        await createTable(trial, 't')
        const require = [{ type: 'assert-ref-snapshot-id', ref: 'main', 'snapshot-id': null }]
        const ids = [11, 12, 13, 14, 15, 16]
        const replies = await Promise.all(ids.map((id) => commit(trial, 't', snapshotUpdates(id), require)))
        const won = ids.filter((_, i) => replies[i]!.status === 200)
        for (const reply of replies.filter(({ status }) => status !== 200))
          failed(reply, 409, 'CommitFailedException')
        assert.equal(won.length, 1)
        const { metadata } = await loadTable(trial, 't')
        assert.equal(metadata['current-snapshot-id'], won[0])
        assert.deepEqual(
          metadata.snapshots.map((one: Answered) => one['snapshot-id']),
          won,
        )
      },
    ),
    rule(
      'iceberg.body',
      'Iceberg REST, status 400',
      'A body that is no JSON, no object, or has members of other types is 400, and changes nothing.',
      [],
      async (trial) => {
        const { ask, home } = trial
        await createTable(trial, 't')
        await unchanged(trial, ['t'], async () => {
          const bodies = ['{"updates":', '[]', '"x"', '{"requirements":[],"updates":{}}']
          for (const body of bodies) failed(await ask('POST', tableAt(trial, 't'), { body }), 400)
          failed(await commit(trial, 't', [{ action: 'set-properties', updates: { a: 1 } }]), 400)
          failed(await commit(trial, 't', ['set-properties']), 400)
        })
        for (const body of [{ schema: {} }, { name: 'u' }, { name: 7, schema: {} }])
          failed(await ask('POST', ['namespaces', home, 'tables'], { body }), 400)
      },
    ),
  ],
}
