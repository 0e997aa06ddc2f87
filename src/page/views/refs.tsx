import type { Identifier } from '../../base/model/identifier.ts'
import type { NamedTable } from '../checked-changes.ts'
import type { ViewProps } from '../hooks.ts'
import { usePaged } from '../hooks.ts'
import type { Opened, Tag } from '../model/description.ts'
import { formatRoute, type TableRoute } from '../model/route.ts'
import { shownTime } from '../model/text.ts'
import { Failure } from '../parts/failure.tsx'
import { Text } from '../parts/text.tsx'
import { get, settings } from '../server.ts'

interface Branch {
  readonly name: string
  readonly parentBranch?: string
  readonly parentVersion: number
  readonly createAt: number
}

/** The tags and branches of a table. */
export function Refs({
  route,
  table,
  revision,
  counters,
  open,
}: Pick<ViewProps, 'revision' | 'counters'> & {
  readonly route: TableRoute
  readonly table: NamedTable
  readonly open: (dialog: Opened) => void
}) {
  const { id } = route
  const what = [id, revision]
  const tags = usePaged<Tag>(listed<Tag>(id, 'tags'), what, counters.open)
  const branches = usePaged<Branch>(listed<Branch>(id, 'branches'), what, counters.open)
  return (
    <>
      <section>
        <div class="title">
          <h2>Tags</h2>
          {settings.editable && (
            <button type="button" onClick={() => open({ act: 'create tag', table })}>
              New tag
            </button>
          )}
        </div>
        {tags.error !== undefined && <Failure error={tags.error} again={tags.again} />}
        {tags.items.length > 0 && (
          <Tags
            id={id}
            tags={tags.items}
            move={(tag) => open({ act: 'move tag', table, tag })}
            remove={(tag) => open({ act: 'delete tag', table, tag })}
          />
        )}
        <More listed={tags} none="No tags." />
      </section>
      <section>
        <h2>Branches</h2>
        {branches.error !== undefined && <Failure error={branches.error} again={branches.again} />}
        {branches.items.length > 0 && <Branches id={id} branches={branches.items} />}
        <More listed={branches} none="No branches other than the main one." />
      </section>
    </>
  )
}

/** Lists a page of the tags or branches of a table. */
function listed<T>(id: Identifier, kind: 'tags' | 'branches') {
  return async (token: string | undefined, signal: AbortSignal) => {
    const answer = await get<Record<string, unknown>>('table', id, `${kind}/list`, {
      query: { limit: 100, page_token: token },
      signal,
    })
    const items = Object.entries(answer[kind] as Record<string, object>).map(
      ([name, rest]) => ({ name, ...rest }) as T,
    )
    return { items, token: (answer.page_token as string | undefined) || undefined }
  }
}

/** Where the rows of a tag or branch are shown. */
function rowsOf(id: Identifier, selection: { tag: string } | { branch: string }): string {
  return formatRoute({ view: 'table', id, tab: 'rows', ...selection })
}

function Tags({
  id,
  tags,
  move,
  remove,
}: {
  readonly id: Identifier
  readonly tags: readonly Tag[]
  readonly move: (tag: Tag) => void
  readonly remove: (tag: Tag) => void
}) {
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Tag</th>
          <th scope="col">Version</th>
          <th scope="col">Branch</th>
          {settings.editable && <th scope="col">Change</th>}
        </tr>
      </thead>
      <tbody>
        {tags.map((tag) => (
          <tr key={tag.name}>
            <th scope="row">
              <a href={rowsOf(id, { tag: tag.name })}>
                <Text text={tag.name} />
              </a>
            </th>
            <td>{tag.version}</td>
            <td>{tag.branch ? <Text text={tag.branch} /> : <span class="faint">main</span>}</td>
            {settings.editable && (
              <td>
                <button type="button" aria-label={`Move ${tag.name}`} onClick={() => move(tag)}>
                  Move
                </button>{' '}
                <button
                  type="button"
                  class="danger"
                  aria-label={`Delete ${tag.name}`}
                  onClick={() => remove(tag)}
                >
                  Delete
                </button>
              </td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function Branches({ id, branches }: { readonly id: Identifier; readonly branches: readonly Branch[] }) {
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Branch</th>
          <th scope="col">Begins at</th>
          <th scope="col">Created (UTC)</th>
        </tr>
      </thead>
      <tbody>
        {branches.map(({ name, parentBranch, parentVersion, createAt }) => (
          <tr key={name}>
            <th scope="row">
              <a href={rowsOf(id, { branch: name })}>
                <Text text={name} />
              </a>
            </th>
            <td>
              version {parentVersion} of {parentBranch ? <Text text={parentBranch} /> : 'main'}
            </td>
            <td>{shownTime(createAt * 1000)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function More({
  listed,
  none,
}: {
  readonly listed: ReturnType<typeof usePaged<unknown>>
  readonly none: string
}) {
  if (listed.loading) return <p class="faint">Loading…</p>
  if (listed.error !== undefined) return null
  if (listed.items.length === 0) return <p class="faint">{none}</p>
  if (!listed.hasMore) return null
  return (
    <button type="button" onClick={listed.more}>
      Show more
    </button>
  )
}
