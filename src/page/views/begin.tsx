import type { Identifier } from '../../base/model/identifier.ts'
import { announce } from '../hooks.ts'
import { beginCommands } from '../model/begin.ts'
import { serverUrl, settings } from '../server.ts'

/** What to do with an empty catalog or namespace. */
export function Begin({ id }: { readonly id: Identifier }) {
  const commands = beginCommands(serverUrl(), id)
  return (
    <div class="note begin">
      <p>
        <strong>{id.length === 0 ? 'This catalog is empty.' : 'This namespace is empty.'}</strong>{' '}
        {commands.length > 0 &&
          'Begin with a table, from a terminal; this page shows it as soon as it is there.'}
      </p>
      {commands.length > 0 && (
        <ol>
          {commands.map((command, index) => (
            <li key={command}>
              <span>
                {index + 1}. {what[index]}
              </span>
              <pre>{command}</pre>
              {navigator.clipboard && (
                <button type="button" onClick={() => copy(command)} aria-label={`Copy: ${what[index]}`}>
                  Copy
                </button>
              )}
            </li>
          ))}
        </ol>
      )}
      {settings.token && (
        <p class="faint">
          The server asks for a token: put it in the environment variable <code>TABULARIUM_TOKEN</code>.
        </p>
      )}
      {!settings.editable && (
        <p class="faint">
          <code>tabularium open</code> without <code>--editable</code> refuses changes: give the commands the
          directory in place of the URL.
        </p>
      )}
    </div>
  )
}

const what = ['Create a table', 'Add a row, as the next version', 'Ask for some of its rows']

function copy(command: string): void {
  navigator.clipboard.writeText(command).then(
    () => announce('Copied.'),
    () => announce('The browser does not let this page copy.'),
  )
}
