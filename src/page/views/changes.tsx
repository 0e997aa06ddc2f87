import { useState } from 'preact/hooks'
import type { Identifier } from '../../base/model/identifier.ts'
import type { DroppedTable } from '../catalog-facts.ts'
import {
  changeTable,
  dropEmptyNamespace,
  type NamedTable,
  type NamedTag,
  requireTag,
} from '../checked-changes.ts'
import { navigate } from '../hooks.ts'
import { emptyTable, typeNames } from '../model/schema.ts'
import { plainText } from '../model/text.ts'
import { Dialog, Field } from '../parts/dialog.tsx'
import { Path, Text } from '../parts/text.tsx'
import { post } from '../server.ts'

interface Props {
  readonly changed: () => void
  readonly onClose: () => void
}

export function CreateNamespace({ parent, ...rest }: Props & { readonly parent: Identifier }) {
  return (
    <NameDialog
      title="New namespace"
      act="Create"
      parent={parent}
      run={(id) => post('namespace', id, 'create', { body: { mode: 'Create' } })}
      done="The namespace is created."
      onDone={(id) => navigate({ view: 'namespace', id })}
      {...rest}
    >
      <p>
        In <Path id={parent} />
      </p>
    </NameDialog>
  )
}

export function CreateTable({ namespace, changed, onClose }: Props & { readonly namespace: Identifier }) {
  const [name, setName] = useState('')
  const [columns, setColumns] = useState('')
  const id = [...namespace, name]
  const run = async () =>
    post('table', id, 'create', { query: { mode: 'Create' }, body: emptyTable(columns) })
  return (
    <Dialog
      title="New table"
      act="Create"
      isReady={name !== '' && columns.trim() !== ''}
      run={run}
      changed={changed}
      onClose={onClose}
      done="The table is created."
      onDone={() => navigate({ view: 'table', id, tab: 'columns' })}
    >
      <p>
        In <Path id={namespace} />. It has no rows; insert them from a program or the command line.
      </p>
      <Field label="Name" value={name} onInput={setName} />
      <Field
        label={`Columns, a name and a type on each line (${typeNames.join(', ')})`}
        value={columns}
        onInput={setColumns}
        lines={5}
        placeholder={'origin string\ndelay int64'}
      />
    </Dialog>
  )
}

export function RenameTable({ table, ...rest }: Props & { readonly table: NamedTable }) {
  const { id, noun } = table
  const run = (wanted: Identifier) =>
    changeTable(table, (within) =>
      post('table', id, 'rename', { body: { new_table_name: wanted.at(-1) }, ...within }),
    )
  return (
    <NameDialog
      title={`Rename ${noun}`}
      act="Rename"
      label="New name"
      parent={id.slice(0, -1)}
      from={id.at(-1)}
      mustDiffer
      run={run}
      done={`The ${noun} is renamed.`}
      onDone={toTable}
      {...rest}
    >
      <p>
        Programs that ask for <Path id={id} /> will not find it any more.
      </p>
    </NameDialog>
  )
}

/** Brings back what was dropped, a table or a view. */
export function UndropTable({ table: { id, table_id }, ...rest }: Props & { readonly table: DroppedTable }) {
  const run = (wanted: Identifier) => {
    const [before, name] = [id.at(-1), wanted.at(-1)]
    return post('table', id, 'undrop', {
      body: { table_id, ...(name === before ? {} : { new_table_name: name }) },
    })
  }
  return (
    <NameDialog
      title="Bring back"
      act="Bring back"
      parent={id.slice(0, -1)}
      from={id.at(-1)}
      run={run}
      done="It is back."
      onDone={toTable}
      {...rest}
    >
      <p>
        <Path id={id} /> comes back with all it had: its versions, tags, branches and rows. If another one has
        its name by now, give it a new one.
      </p>
    </NameDialog>
  )
}

function toTable(id: Identifier): void {
  navigate({ view: 'table', id, tab: 'columns' })
}

/** Asks for a name within a namespace. Those of tables start with the one they have. */
function NameDialog({
  parent,
  from = '',
  mustDiffer = false,
  label = 'Name',
  run,
  onDone,
  children,
  ...rest
}: Props & {
  readonly title: string
  readonly act: string
  readonly label?: string
  readonly parent: Identifier
  readonly from?: string | undefined
  readonly mustDiffer?: boolean
  readonly run: (id: Identifier) => Promise<unknown>
  readonly done: string
  readonly onDone: (id: Identifier) => void
  readonly children: preact.ComponentChildren
}) {
  const [name, setName] = useState(from)
  const id = [...parent, name]
  return (
    <Dialog
      isReady={name !== '' && !(mustDiffer && name === from)}
      run={() => run(id)}
      onDone={() => onDone(id)}
      {...rest}
    >
      {children}
      <Field label={label} value={name} onInput={setName} />
    </Dialog>
  )
}

export function DropTable({ table, changed, onClose }: Props & { readonly table: NamedTable }) {
  const { id, noun } = table
  const run = () => changeTable(table, (within) => post('table', id, 'drop', within))
  return (
    <Confirmed
      title={`Drop ${noun}`}
      name={id.at(-1)!}
      run={run}
      changed={changed}
      onClose={onClose}
      done={`The ${noun} is dropped.`}
      onDone={() => navigate({ view: 'namespace', id: id.slice(0, -1) })}
    >
      <p>
        This removes <Path id={id} />, {noun === 'view' ? 'with' : 'its rows and'} all of its versions. It can
        be brought back only where the server holds what was dropped for a time, and only until then.
      </p>
    </Confirmed>
  )
}

export function DropNamespace({
  id,
  properties,
  changed,
  onClose,
}: Props & { readonly id: Identifier; readonly properties: Readonly<Record<string, string>> }) {
  const run = () => dropEmptyNamespace(id, properties)
  return (
    <Confirmed
      title="Drop namespace"
      name={id.at(-1)!}
      run={run}
      changed={changed}
      onClose={onClose}
      done="The namespace is dropped."
      onDone={() => navigate({ view: 'namespace', id: id.slice(0, -1) })}
    >
      <p>
        This removes <Path id={id} />. A namespace that holds something is refused.
      </p>
    </Confirmed>
  )
}

/** Confirms a removal by its name. A name with hidden characters may be typed in its escaped form. */
function Confirmed({
  title,
  name,
  children,
  ...rest
}: {
  readonly title: string
  readonly name: string
  readonly run: () => Promise<unknown>
  readonly changed: () => void
  readonly onClose: () => void
  readonly done: string
  readonly onDone: () => void
  readonly children: preact.ComponentChildren
}) {
  const [typed, setTyped] = useState('')
  return (
    <Dialog
      title={title}
      act={title}
      isDangerous
      isReady={typed === name || typed === plainText(name)}
      {...rest}
    >
      {children}
      <p>
        Type its name,{' '}
        <strong>
          <Text text={name} />
        </strong>
        , to confirm.
      </p>
      <Field label="Name" value={typed} onInput={setTyped} />
    </Dialog>
  )
}

interface TagProps extends Props {
  readonly table: NamedTable
}

export function PutTag({
  table,
  branch,
  tag: moved,
  version: from,
  changed,
  onClose,
}: TagProps & {
  /** The tag to move; absent to create one. */
  readonly tag?: NamedTag | undefined
  readonly branch?: string | undefined
  readonly version?: number | undefined
}) {
  const given = moved?.name
  const [tag, setTag] = useState(given ?? '')
  const [version, setVersion] = useState(from === undefined ? '' : String(from))
  const run = () =>
    changeTable(table, async (within) => {
      if (moved) await requireTag(table.id, moved, within)
      const body = { tag, version: Number(version), ...(branch ? { branch } : {}) }
      return post('table', table.id, moved ? 'tags/update' : 'tags/create', { body, ...within })
    })
  return (
    <Dialog
      title={given === undefined ? 'New tag' : 'Move tag'}
      act={given === undefined ? 'Create' : 'Move'}
      isReady={tag !== '' && /^\d+$/.test(version)}
      run={run}
      changed={changed}
      onClose={onClose}
      done="The tag is set."
    >
      {given === undefined ? (
        <Field label="Tag" value={tag} onInput={setTag} />
      ) : (
        <p>
          <Text text={given} />
        </p>
      )}
      <Field
        label={branch ? `Version of the branch ${plainText(branch)}` : 'Version'}
        value={version}
        onInput={setVersion}
      />
    </Dialog>
  )
}

export function DeleteTag({ table, tag, changed, onClose }: TagProps & { readonly tag: NamedTag }) {
  const run = () =>
    changeTable(table, async (within) => {
      await requireTag(table.id, tag, within)
      return post('table', table.id, 'tags/delete', { body: { tag: tag.name }, ...within })
    })
  return (
    <Dialog
      title="Delete tag"
      act="Delete"
      isDangerous
      run={run}
      changed={changed}
      onClose={onClose}
      done="The tag is deleted."
    >
      <p>
        The tag{' '}
        <strong>
          <Text text={tag.name} />
        </strong>{' '}
        goes. Its version stays.
      </p>
    </Dialog>
  )
}

export function CancelTransaction({
  transaction,
  changed,
  onClose,
}: Props & { readonly transaction: string }) {
  const run = () => {
    const actions = [{ setStatusAction: { status: 'Canceled' } }]
    return post('transaction', [transaction], 'alter', { body: { actions } })
  }
  return (
    <Dialog
      title="Cancel transaction"
      act="Cancel it"
      isDangerous
      run={run}
      changed={changed}
      onClose={onClose}
      done="The transaction is canceled."
    >
      <p>Its work stops, and none of its changes are made. Whoever waits for it gets an error.</p>
    </Dialog>
  )
}
