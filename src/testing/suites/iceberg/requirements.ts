import assert from 'node:assert/strict'
import { type Case, rule, type Topic } from '../suite.ts'
import {
  type Answered,
  commit,
  committed,
  createTable,
  failed,
  type IcebergTrial,
  loadTable,
  otherUuid,
  snapshotUpdates,
  unchanged,
} from './trial.ts'

const change = [{ action: 'set-properties', updates: { changed: 'yes' } }]

/** Requirements of tables: what holds of a table with one snapshot 5, and what does not. */
const requirements: readonly {
  readonly type: string
  readonly right: (metadata: Answered) => object
  readonly wrong: readonly object[]
}[] = [
  {
    type: 'assert-table-uuid',
    right: (metadata) => ({ uuid: metadata['table-uuid'] }),
    wrong: [{ uuid: otherUuid }],
  },
  {
    type: 'assert-ref-snapshot-id',
    right: () => ({ ref: 'main', 'snapshot-id': 5 }),
    wrong: [
      { ref: 'main', 'snapshot-id': 6 },
      { ref: 'main', 'snapshot-id': null },
      { ref: 'other', 'snapshot-id': 5 },
    ],
  },
  {
    type: 'assert-last-assigned-field-id',
    right: (metadata) => ({ 'last-assigned-field-id': metadata['last-column-id'] }),
    wrong: [{ 'last-assigned-field-id': 99 }],
  },
  {
    type: 'assert-current-schema-id',
    right: (metadata) => ({ 'current-schema-id': metadata['current-schema-id'] }),
    wrong: [{ 'current-schema-id': 99 }],
  },
  {
    type: 'assert-last-assigned-partition-id',
    right: (metadata) => ({ 'last-assigned-partition-id': metadata['last-partition-id'] }),
    wrong: [{ 'last-assigned-partition-id': 9_999 }],
  },
  {
    type: 'assert-default-spec-id',
    right: (metadata) => ({ 'default-spec-id': metadata['default-spec-id'] }),
    wrong: [{ 'default-spec-id': 99 }],
  },
  {
    type: 'assert-default-sort-order-id',
    right: (metadata) => ({ 'default-sort-order-id': metadata['default-sort-order-id'] }),
    wrong: [{ 'default-sort-order-id': 99 }],
  },
]

function caseOf({ type, right, wrong }: (typeof requirements)[number]): Case<IcebergTrial> {
  return rule(
    `iceberg.${type}`,
    'Iceberg REST, TableRequirement',
    `A commit with ${type} is made where it holds; otherwise it is 409 CommitFailedException, and changes nothing.`,
    [],
    async (trial) => {
      await createTable(trial, 't')
      await committed(trial, 't', snapshotUpdates(5))
      await unchanged(trial, ['t'], async () => {
        for (const fields of wrong)
          failed(await commit(trial, 't', change, [{ type, ...fields }]), 409, 'CommitFailedException')
      })
      const { metadata } = await loadTable(trial, 't')
      const { properties } = await committed(trial, 't', change, [{ type, ...right(metadata) }])
      assert.equal(properties.changed, 'yes')
    },
  )
}

export const requirementTopic: Topic<IcebergTrial> = {
  name: 'requirements of commits',
  cases: [
    ...requirements.map(caseOf),
    rule(
      'iceberg.requirements-all',
      'Iceberg REST, updateTable',
      'One requirement that does not hold is enough, wherever it stands.',
      [],
      async (trial) => {
        const { metadata } = await createTable(trial, 't')
        const right = { type: 'assert-table-uuid', uuid: metadata['table-uuid'] }
        const wrong = { type: 'assert-default-spec-id', 'default-spec-id': 99 }
        await unchanged(trial, ['t'], async () => {
          failed(await commit(trial, 't', change, [right, wrong]), 409, 'CommitFailedException')
          failed(await commit(trial, 't', change, [wrong, right]), 409, 'CommitFailedException')
        })
      },
    ),
    rule(
      'iceberg.requirement-unknown',
      'Iceberg REST, TableRequirement',
      'A requirement that nobody knows is 400, and changes nothing.',
      [],
      async (trial) => {
        await createTable(trial, 't')
        await unchanged(trial, ['t'], async () => {
          failed(await commit(trial, 't', change, [{ type: 'assert-good-weather' }]), 400)
        })
      },
    ),
  ],
}
