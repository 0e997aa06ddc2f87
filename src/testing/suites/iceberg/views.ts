import assert from 'node:assert/strict'
import { wallClock } from '../../../base/time.ts'
import { rule, type Topic } from '../suite.ts'
import {
  type Answered,
  absent,
  createTable,
  done,
  failed,
  good,
  type IcebergTrial,
  namesIn,
  otherUuid,
  type Part,
  pagesOf,
  schema,
} from './trial.ts'

const needs = ['createView', 'loadView']

const viewAt = ({ home }: IcebergTrial, name: string): readonly Part[] => ['namespaces', home, 'views', name]

/** A version of a view. */
function version({ home }: IcebergTrial, id: number, sql: string) {
  return {
    'version-id': id,
    'timestamp-ms': wallClock(),
    'schema-id': 0,
    summary: { engine: 'suite' },
    representations: [{ type: 'sql', sql, dialect: 'spark' }],
    'default-namespace': home,
  }
}

const create = (trial: IcebergTrial, name: string, sql = 'SELECT 1') => {
  const body = { name, schema, 'view-version': version(trial, 1, sql), properties: { owner: 'ada' } }
  return trial.ask('POST', ['namespaces', trial.home, 'views'], { body })
}
const load = async (trial: IcebergTrial, name: string) => good(await trial.ask('GET', viewAt(trial, name)))
const replace = (
  trial: IcebergTrial,
  name: string,
  updates: readonly unknown[],
  requirements: readonly unknown[] = [],
) => trial.ask('POST', viewAt(trial, name), { body: { requirements, updates } })
const listed = async ({ ask, home }: IcebergTrial, kind: string) =>
  namesIn(good(await ask('GET', ['namespaces', home, kind])))

/** The SQL of the current version. */
function sqlOf(metadata: Answered): string {
  const current = metadata.versions.find(
    (one: Answered) => one['version-id'] === metadata['current-version-id'],
  )
  return current.representations[0].sql
}

async function unchanged(trial: IcebergTrial, name: string, attempt: () => Promise<void>): Promise<void> {
  const before = await load(trial, name)
  await attempt()
  assert.deepEqual(await load(trial, name), before)
}

const making: Topic<IcebergTrial> = {
  name: 'views',
  cases: [
    rule(
      'iceberg.view',
      'Iceberg REST, createView',
      'A new view has its first version, and is loaded as it was answered.',
      needs,
      async (trial) => {
        const { metadata } = good(await create(trial, 'v'))
        assert.match(metadata['view-uuid'], /^[0-9a-f-]{36}$/)
        assert.equal(sqlOf(metadata), 'SELECT 1')
        assert.equal(metadata.properties.owner, 'ada')
        assert.deepEqual(metadata.versions[0]['default-namespace'], trial.home)
        assert.equal(metadata.versions.length, 1)
        assert.deepEqual((await load(trial, 'v')).metadata, metadata)
      },
    ),
    rule(
      'iceberg.view-list',
      'Iceberg REST, listViews',
      'Views are listed as views, and tables as tables.',
      [...needs, 'listViews'],
      async (trial) => {
        good(await create(trial, 'v'))
        await createTable(trial, 't')
        assert.deepEqual(await listed(trial, 'views'), ['v'])
        assert.deepEqual(await listed(trial, 'tables'), ['t'])
      },
    ),
    rule(
      'iceberg.view-pages',
      'Iceberg REST, pages',
      'Pages have at most as many views as asked for, and together each of them once.',
      [...needs, 'listViews', 'pages'],
      async (trial) => {
        for (const name of ['a', 'b', 'c']) good(await create(trial, name))
        const pages = await pagesOf(trial, ['namespaces', trial.home, 'views'], { pageSize: '2' })
        const names = pages.flat().map(({ name }) => name)
        assert.deepEqual([pages.length > 1, names.sort()], [true, ['a', 'b', 'c']])
      },
    ),
    rule(
      'iceberg.view-exists',
      'Iceberg REST, viewExists',
      'HEAD of a view is 204 or 404, without a body.',
      [...needs, 'viewExists'],
      async (trial) => {
        good(await create(trial, 'v'))
        done(await trial.ask('HEAD', viewAt(trial, 'v')))
        absent(await trial.ask('HEAD', viewAt(trial, 'none')))
      },
    ),
    rule(
      'iceberg.view-missing',
      'Iceberg REST, error NoSuchViewException',
      'What is asked of a view that is not there is 404 NoSuchViewException, also where a table has its name.',
      [...needs, 'replaceView', 'dropView'],
      async (trial) => {
        await createTable(trial, 't')
        for (const name of ['none', 't']) {
          failed(await trial.ask('GET', viewAt(trial, name)), 404, 'NoSuchViewException')
          const updates = [{ action: 'set-properties', updates: { a: 'b' } }]
          failed(await replace(trial, name, updates), 404, 'NoSuchViewException')
          failed(await trial.ask('DELETE', viewAt(trial, name)), 404, 'NoSuchViewException')
        }
      },
    ),
    rule(
      'iceberg.view-taken',
      'Iceberg REST, createView, status 409',
      'Tables and views share their names: a taken one is 409 AlreadyExistsException.',
      needs,
      async (trial) => {
        const { ask, home } = trial
        const { metadata } = good(await create(trial, 'v'))
        const table = await createTable(trial, 't')
        failed(await create(trial, 'v', 'SELECT 2'), 409, 'AlreadyExistsException')
        failed(await create(trial, 't'), 409, 'AlreadyExistsException')
        const body = { name: 'v', schema }
        failed(await ask('POST', ['namespaces', home, 'tables'], { body }), 409, 'AlreadyExistsException')
        assert.deepEqual((await load(trial, 'v')).metadata, metadata)
        const loaded = good(await ask('GET', ['namespaces', home, 'tables', 't']))
        assert.deepEqual(loaded.metadata, table.metadata)
      },
    ),
  ],
}

const changing: Topic<IcebergTrial> = {
  name: 'changing views',
  cases: [
    rule(
      'iceberg.view-replace',
      'Iceberg REST, replaceView',
      'A new version becomes the current one; the earlier ones stay, and the log has their order.',
      [...needs, 'replaceView'],
      async (trial) => {
        const first = good(await create(trial, 'v')).metadata
        const updates = [
          { action: 'add-view-version', 'view-version': version(trial, 2, 'SELECT 2') },
          { action: 'set-current-view-version', 'view-version-id': -1 },
        ]
        const require = [{ type: 'assert-view-uuid', uuid: first['view-uuid'] }]
        const answer = good(await replace(trial, 'v', updates, require))
        const loaded = await load(trial, 'v')
        assert.deepEqual(answer.metadata, loaded.metadata)
        const { metadata } = loaded
        assert.equal(sqlOf(metadata), 'SELECT 2')
        const ids = metadata.versions.map((one: Answered) => one['version-id'])
        assert.deepEqual(ids.sort(), [1, 2])
        const log = metadata['version-log'].map((one: Answered) => one['version-id'])
        assert.deepEqual(log, [1, 2])
        const back = [{ action: 'set-current-view-version', 'view-version-id': 1 }]
        good(await replace(trial, 'v', back))
        assert.equal(sqlOf((await load(trial, 'v')).metadata), 'SELECT 1')
      },
    ),
    rule(
      'iceberg.view-updates',
      'Iceberg REST, ViewUpdate',
      'Schemas and properties of a view are changed.',
      [...needs, 'replaceView'],
      async (trial) => {
        good(await create(trial, 'v'))
        const wider = {
          ...schema,
          'schema-id': 1,
          fields: [...schema.fields, { id: 3, name: 'n', required: false, type: 'int' }],
        }
        const updates = [
          { action: 'set-properties', updates: { a: '1', b: '2' } },
          { action: 'remove-properties', removals: ['owner'] },
          { action: 'add-schema', schema: wider },
        ]
        good(await replace(trial, 'v', updates))
        const { metadata } = await load(trial, 'v')
        assert.deepEqual({ ...metadata.properties }, { a: '1', b: '2' })
        assert.equal(metadata.schemas.length, 2)
      },
    ),
    rule(
      'iceberg.view-refused',
      'Iceberg REST, replaceView, statuses 400 and 409',
      'The UUID of another view is 409, and an update that nobody knows 400; nothing changes.',
      [...needs, 'replaceView'],
      async (trial) => {
        good(await create(trial, 'v'))
        const set = { action: 'set-properties', updates: { a: '1' } }
        await unchanged(trial, 'v', async () => {
          const other = [{ type: 'assert-view-uuid', uuid: otherUuid }]
          failed(await replace(trial, 'v', [set], other), 409, 'CommitFailedException')
          failed(await replace(trial, 'v', [set, { action: 'do-magic' }]), 400)
          const missing = { action: 'set-current-view-version', 'view-version-id': 9 }
          failed(await replace(trial, 'v', [set, missing]), 400)
        })
      },
    ),
    rule(
      'iceberg.view-rename',
      'Iceberg REST, renameView',
      'A renamed view is there under its new name alone; to a taken name is 409.',
      [...needs, 'renameView'],
      async (trial) => {
        const { ask, home } = trial
        const { metadata } = good(await create(trial, 'old'))
        await createTable(trial, 'taken')
        const rename = (to: string) => {
          const body = {
            source: { namespace: home, name: 'old' },
            destination: { namespace: home, name: to },
          }
          return ask('POST', ['views', 'rename'], { body })
        }
        failed(await rename('taken'), 409, 'AlreadyExistsException')
        done(await rename('new'))
        assert.deepEqual((await load(trial, 'new')).metadata, metadata)
        failed(await ask('GET', viewAt(trial, 'old')), 404, 'NoSuchViewException')
        failed(await rename('newer'), 404, 'NoSuchViewException')
      },
    ),
    rule(
      'iceberg.view-drop',
      'Iceberg REST, dropView',
      'A dropped view is gone, and its name is free.',
      [...needs, 'dropView'],
      async (trial) => {
        good(await create(trial, 'v'))
        done(await trial.ask('DELETE', viewAt(trial, 'v')))
        failed(await trial.ask('GET', viewAt(trial, 'v')), 404, 'NoSuchViewException')
        await createTable(trial, 'v')
      },
    ),
  ],
}

export const viewTopics = [making, changing] as const
