type Send = (request: Request) => Promise<Response>

/** A server whose streams of changes are altered, chunk by chunk. */
function altered(change: (events: string) => string): (real: Send) => Send {
  return (real) => async (request) => {
    const response = await real(request)
    if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return response
    const [decoder, encoder] = [new TextDecoder(), new TextEncoder()]
    const body = response.body!.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform: (bytes, controller) =>
          controller.enqueue(encoder.encode(change(decoder.decode(bytes, { stream: true })))),
      }),
    )
    return new Response(body, { status: response.status, headers: response.headers })
  }
}

/** A server that gets altered requests for the stream. */
function asked(
  change: (url: URL, headers: Headers, token: string) => void,
): (real: Send, token: string) => Send {
  return (real, token) => (request) => {
    const url = new URL(request.url)
    if (url.pathname !== '/v1/changes') return real(request)
    const headers = new Headers(request.headers)
    change(url, headers, token)
    return real(new Request(url, { headers, signal: request.signal }))
  }
}

/** Servers whose stream of changes is broken in one way, with the case that must notice. */
export const brokenStreams: readonly (readonly [
  name: string,
  rule: string,
  make: (real: Send, token: string) => Send,
])[] = [
  ['streams changes without ids', 'http.changes', altered((text) => text.replaceAll(/^id: .*\n/gm, ''))],
  [
    'does not tell where its stream begins',
    'http.changes',
    altered((text) => text.replaceAll(/^event: token$/gm, 'event: hello')),
  ],
  [
    'tells more of a caller than its name',
    'http.changes',
    altered((text) => text.replaceAll('"transaction_id"', '"authorization":"Bearer x","transaction_id"')),
  ],
  [
    'calls its stream plain text',
    'http.changes',
    (real) => async (request) => {
      const { body, status, headers } = await real(request)
      const others = new Headers(headers)
      if (headers.get('content-type')?.startsWith('text/event-stream'))
        others.set('content-type', 'text/plain')
      return new Response(body, { status, headers: others })
    },
  ],
  [
    'begins now for any token that it does not know',
    'http.changes-resume',
    asked((url) => {
      if (url.searchParams.get('since') === 'none') url.searchParams.delete('since')
    }),
  ],
  [
    'does not look at Last-Event-ID',
    'http.changes-resume',
    asked((_, headers) => headers.delete('last-event-id')),
  ],
  ['does not look at since', 'http.changes-resume', asked((url) => url.searchParams.delete('since'))],
  [
    'prefers since to Last-Event-ID',
    'http.changes-resume',
    asked((url, headers) => {
      if (url.searchParams.has('since')) headers.delete('last-event-id')
    }),
  ],
  [
    'streams changes to strangers',
    'http.changes-strangers',
    asked((_, headers, token) => headers.set('authorization', `Bearer ${token}`)),
  ],
]
