import type { Identifier } from '../../base/model/identifier.ts'
import { piecesOf, plainText } from '../model/text.ts'

/** A text from the catalog. Isolates its text direction, and shows hidden characters escaped. */
export function Text({ text }: { readonly text: string }) {
  return (
    <bdi dir="auto">
      {piecesOf(text).map(({ text: piece, hidden }) =>
        hidden ? <span class="hidden-character">{piece}</span> : piece,
      )}
    </bdi>
  )
}

/** An identifier with separated names. */
export function Path({ id, root = 'All namespaces' }: { readonly id: Identifier; readonly root?: string }) {
  if (id.length === 0) return <span>{root}</span>
  return (
    <span class="path" title={id.map(plainText).join(' › ')}>
      {id.map((name, index) => (
        <>
          {index > 0 && (
            <span class="faint" aria-hidden="true">
              {' › '}
            </span>
          )}
          <Text text={name} />
        </>
      ))}
    </span>
  )
}

/** A map of strings. */
export function Properties({
  entries,
  empty,
}: {
  readonly entries: Readonly<Record<string, string>>
  readonly empty: string
}) {
  const pairs = Object.entries(entries)
  if (pairs.length === 0) return <p class="faint">{empty}</p>
  return (
    <dl class="properties">
      {pairs.slice(0, 200).map(([name, value]) => (
        <div key={name}>
          <dt>
            <Text text={name} />
          </dt>
          <dd>
            <Text text={value.slice(0, 2_000)} />
          </dd>
        </div>
      ))}
    </dl>
  )
}
