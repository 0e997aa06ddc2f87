/*
 * Server-sent events as the change feed has them. Source: the HTML standard, section 9.2. Each event has the token of
 * the place behind it as its id, so that a client that was cut off goes on there.
 */

/** The path of the change feed. */
export const changesPath = '/v1/changes'

/** The header with the id of the last event, by which a client resumes. */
export const lastEventHeader = 'last-event-id'

export const eventStreamType = 'text/event-stream'

/**
 * The kinds of events. A message is a change. `token` tells how far the stream has come, also where it had
 * nothing to tell. `end` and `error` come last: the server stops, or cannot go on.
 */
export type EventKind = 'message' | 'token' | 'end' | 'error'

/** One event as it is sent. */
export function eventText(kind: EventKind, id: string | undefined, data: unknown): string {
  const name = kind === 'message' ? '' : `event: ${kind}\n`
  const place = id === undefined ? '' : `id: ${id}\n`
  return `${name}${place}data: ${JSON.stringify(data)}\n\n`
}

export interface ReceivedEvent {
  readonly kind: string
  readonly id: string | undefined
  readonly data: string
}

/** The longest event that is taken: the changes of the largest transaction fit. */
const mostCharacters = 256 * 1024 * 1024

/**
 * The events of a body. Comments and unknown fields are left out, and so is an event that was cut off. One of more than
 * `most` characters is an error.
 */
export async function* eventsOf(
  body: AsyncIterable<Uint8Array>,
  most = mostCharacters,
): AsyncGenerator<ReceivedEvent, undefined> {
  const decoder = new TextDecoder()
  let pieces: string[] = []
  let length = 0
  let event: { kind: string; id: string | undefined; data: string[] } = fresh()
  for await (const bytes of body) {
    const lines = decoder.decode(bytes, { stream: true }).split('\n')
    for (const [i, piece] of lines.entries()) {
      pieces.push(piece)
      length += piece.length
      if (length > most) throw new Error('An event of the server is too long.')
      if (i === lines.length - 1) break
      const line = pieces.join('').replace(/\r$/, '')
      pieces = []
      if (line !== '') {
        take(event, line)
        continue
      }
      if (event.data.length > 0) yield { ...event, data: event.data.join('\n') }
      event = fresh()
      length = 0
    }
  }
  return undefined
}

function fresh(): { kind: string; id: string | undefined; data: string[] } {
  return { kind: 'message', id: undefined, data: [] }
}

function take(event: ReturnType<typeof fresh>, line: string): void {
  const colon = line.indexOf(':')
  const name = colon < 0 ? line : line.slice(0, colon)
  const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
  if (name === 'event') event.kind = value
  else if (name === 'id') event.id = value
  else if (name === 'data') event.data.push(value)
}
