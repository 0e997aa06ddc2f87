/*
 * The server-sent events of the change feed. Source: the HTML standard, section 9.2. The id of each event is the token
 * of the position after it, from which a client resumes.
 */

/** The path of the change feed. */
export const changesPath = '/v1/changes'

/** The header with the id of the last event, by which a client resumes. */
export const lastEventHeader = 'last-event-id'

export const eventStreamType = 'text/event-stream'

/**
 * The kinds of events. A message is a change. `token` reports the position of the stream, also without changes. The
 * last event is `end` when the server stops, or `error` when the stream failed.
 */
export type EventKind = 'message' | 'token' | 'end' | 'error'

/** One event in its wire format. */
export function eventText(kind: EventKind, id: string | undefined, data: unknown): string {
  const eventLine = kind === 'message' ? '' : `event: ${kind}\n`
  const idLine = id === undefined ? '' : `id: ${id}\n`
  return `${eventLine}${idLine}data: ${JSON.stringify(data)}\n\n`
}

export interface ReceivedEvent {
  readonly kind: string
  readonly id: string | undefined
  readonly data: string
}

/** The longest event accepted. The changes of the largest transaction fit. */
const defaultMaxCharacters = 256 * 1024 * 1024

/**
 * The events of a response body. Comments, unknown fields and an incomplete last event are ignored. Throws for an event
 * of more than `maxCharacters` characters.
 */
export async function* eventsOf(
  body: AsyncIterable<Uint8Array>,
  maxCharacters = defaultMaxCharacters,
): AsyncGenerator<ReceivedEvent, undefined> {
  const decoder = new TextDecoder()
  let pieces: string[] = []
  let length = 0
  let event: { kind: string; id: string | undefined; data: string[] } = emptyEvent()
  for await (const bytes of body) {
    const lines = decoder.decode(bytes, { stream: true }).split('\n')
    for (const [i, piece] of lines.entries()) {
      pieces.push(piece)
      length += piece.length
      if (length > maxCharacters) throw new Error('An event of the server is too long.')
      if (i === lines.length - 1) break
      const line = pieces.join('').replace(/\r$/, '')
      pieces = []
      if (line !== '') {
        readField(event, line)
        continue
      }
      if (event.data.length > 0) yield { ...event, data: event.data.join('\n') }
      event = emptyEvent()
      length = 0
    }
  }
  return undefined
}

function emptyEvent(): { kind: string; id: string | undefined; data: string[] } {
  return { kind: 'message', id: undefined, data: [] }
}

function readField(event: ReturnType<typeof emptyEvent>, line: string): void {
  const colon = line.indexOf(':')
  const name = colon < 0 ? line : line.slice(0, colon)
  const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
  if (name === 'event') event.kind = value
  else if (name === 'id') event.id = value
  else if (name === 'data') event.data.push(value)
}
