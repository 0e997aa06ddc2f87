import { tokenHeader, urlOf } from '../server.ts'

/** An answer, as far as it was read. */
export interface Shown {
  readonly status: string
  readonly isOk: boolean
  readonly text: string
  readonly isOver: boolean
}

/** The most bytes of an answer that are read. */
const maxBytes = 256 * 1024

interface Sent {
  readonly method: string
  readonly address: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Blob | undefined
  readonly signal: AbortSignal
}

/** Sends a request with the token of the page, and shows the answer while it comes: streams do not end. */
export async function sendShown(
  { method, address, headers, body, signal }: Sent,
  show: (shown: Shown) => void,
): Promise<void> {
  const begun = performance.now()
  const response = await fetch(urlOf(address), {
    method,
    headers: { ...headers, ...tokenHeader() },
    body: body ?? null,
    signal,
    credentials: 'same-origin',
    cache: 'no-store',
  })
  const type = response.headers.get('content-type') ?? 'no content type'
  const millis = Math.round(performance.now() - begun)
  const status = `${response.status} ${response.statusText} · ${type} · ${millis} ms`
  const isText = /json|text|event-stream/.test(type)
  const isJson = /json/.test(type)
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  const shown = (isOver: boolean, isCut = false): Shown => ({
    status,
    isOk: response.ok,
    isOver,
    text: isText
      ? `${isOver && isJson && !isCut ? indented(text) : text}${isCut ? '\n… cut here' : ''}`
      : `${bytes.toLocaleString('en')}${isCut ? ' and more' : ''} bytes`,
  })
  show(shown(false))
  const reader = response.body?.getReader()
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true }
    if (done || value === undefined) return show(shown(true))
    bytes += value.length
    if (isText) text += decoder.decode(value, { stream: true })
    if (bytes >= maxBytes) {
      await reader?.cancel()
      return show(shown(true, true))
    }
    show(shown(false))
  }
}

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2)
  } catch {
    return text
  }
}
