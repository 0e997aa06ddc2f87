import { ServerError, settings } from '../server.ts'
import { Text } from './text.tsx'

/** The advice for a status. */
function remedyOf(status: number): string {
  switch (status) {
    case 0:
      return 'Check that the server still runs and that this machine reaches it, and try again.'
    case 401:
      return settings.token ? 'Give a token that is valid.' : ''
    case 403:
      return 'Ask whoever runs the server to allow it, or use another token.'
    case 404:
      return 'It may be gone, or have another name now.'
    case 503:
      return 'The server is busy. Wait a moment and try again.'
    default:
      return status >= 500 ? 'The log of the server says more.' : ''
  }
}

const titles: Readonly<Record<number, string>> = {
  0: 'No answer',
  401: 'A token is needed',
  403: 'Not allowed',
  404: 'Not found',
  503: 'Busy',
}

/** An error with advice. */
export function Failure({
  error,
  again,
}: {
  readonly error: unknown
  readonly again?: (() => void) | undefined
}) {
  const { status, transaction } =
    error instanceof ServerError ? error : { status: -1, transaction: undefined }
  const remedy = remedyOf(status)
  return (
    <div class="failure" role="alert">
      <strong>{titles[status] ?? 'This did not work'}</strong>
      <p>
        <Text text={error instanceof Error ? error.message : String(error)} />
      </p>
      {remedy && <p>{remedy}</p>}
      {transaction && (
        <p>
          <a href={`#/activity?transaction=${encodeURIComponent(transaction)}`}>Its transaction</a>
        </p>
      )}
      {again && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  )
}
