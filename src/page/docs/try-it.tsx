import { useRef, useState } from 'preact/hooks'
import { announce } from '../hooks.ts'
import { Dialog } from '../parts/dialog.tsx'
import { settings, token } from '../server.ts'
import {
  type ApiDocument,
  addressOf,
  bodyToBegin,
  choicesOf,
  type Entered,
  headersOf,
  type Operation,
  type Parameter,
} from './request.ts'
import { type Shown, sendShown } from './send.ts'

interface Props {
  readonly path: string
  readonly document: ApiDocument
}

/** A form that sends a request of one path. What changes the catalog is sent after a confirmation. */
export function TryIt({ path, document }: Props) {
  const operations = document.paths[path] ?? {}
  const methods = Object.keys(operations)
  const [method, setMethod] = useState(methods[0] ?? 'get')
  const operation = operations[method]!
  const [entered, setEntered] = useState<Entered>({})
  const [body, setBody] = useState<string | Blob | undefined>(() => bodyOf(operation, document))
  const [confirmed, setConfirmed] = useState<string>()
  const { shown, failure, isRunning, send, stop } = useSend(operation, method, entered, body)

  const submit = (event: Event) => {
    event.preventDefault()
    if (operation['x-tabularium-changes']) setConfirmed(`${method.toUpperCase()} ${path}`)
    else void send(path)
  }
  const enter = (name: string, value: string) => setEntered((before) => ({ ...before, [name]: value }))
  return (
    <>
      <form class="try-form" aria-label={`Try ${operation.operationId}`} onSubmit={submit}>
        {methods.length > 1 && (
          <label class="field">
            <span>method</span>
            <select
              value={method}
              onChange={({ currentTarget: { value } }) => {
                setMethod(value)
                setBody(bodyOf(operations[value]!, document))
              }}
            >
              {methods.map((name) => (
                <option key={name} value={name}>
                  {name.toUpperCase()}
                </option>
              ))}
            </select>
          </label>
        )}
        {operation.parameters.map((parameter) => (
          <ParameterField
            key={parameter.name}
            parameter={parameter}
            value={entered[parameter.name] ?? ''}
            onInput={(value) => enter(parameter.name, value)}
          />
        ))}
        {operation.requestBody && <BodyField body={body} operation={operation} onBody={setBody} />}
        {settings.token && <TokenField />}
        <div class="buttons">
          {isRunning && (
            <button type="button" onClick={stop}>
              Stop
            </button>
          )}
          <button type="submit" class="primary" disabled={isRunning}>
            Send
          </button>
        </div>
      </form>
      {failure && (
        <p class="failure" role="alert">
          {failure}
        </p>
      )}
      {shown && (
        <div class="answer">
          <p class={shown.isOk ? 'state' : 'state failed'}>{shown.status}</p>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, by keyboard too */}
          <pre tabIndex={0} role="region" aria-label={`Answer of ${operation.operationId}`}>
            {shown.text}
          </pre>
        </div>
      )}
      {confirmed && (
        <Dialog
          title="This changes the catalog"
          act="Send"
          isDangerous
          run={() => send(path)}
          changed={() => {}}
          onClose={() => setConfirmed(undefined)}
          done="Sent."
        >
          <p>
            <code>{confirmed}</code> is sent to {location.host}, with what the form has.
          </p>
        </Dialog>
      )}
    </>
  )
}

/** Sends the request of a form, one at a time. */
function useSend(operation: Operation, method: string, entered: Entered, body: string | Blob | undefined) {
  const [shown, setShown] = useState<Shown>()
  const [failure, setFailure] = useState<string>()
  const [isRunning, setRunning] = useState(false)
  const controller = useRef<AbortController>()
  const send = async (path: string) => {
    setFailure(undefined)
    setShown(undefined)
    setRunning(true)
    controller.current = new AbortController()
    const { signal } = controller.current
    try {
      const address = addressOf(path, operation.parameters, entered)
      const type = contentTypeOf(operation)
      const headers = {
        ...headersOf(operation.parameters, entered),
        ...(type !== undefined && body !== undefined && { 'content-type': type }),
      }
      const sent = { method: method.toUpperCase(), address, headers, body, signal }
      await sendShown(sent, (next) => {
        setShown(next)
        if (next.isOver) announce(`Answer: ${next.status}`)
      })
    } catch (error) {
      if (!signal.aborted)
        setFailure(
          error instanceof TypeError ? 'The server gave no answer.' : String((error as Error).message),
        )
    } finally {
      setRunning(false)
    }
  }
  return { shown, failure, isRunning, send, stop: () => controller.current?.abort() }
}

function contentTypeOf({ requestBody }: Operation): string | undefined {
  return Object.keys(requestBody?.content ?? {})[0]
}

/** The body to begin with. A body of bytes is a file to choose. */
function bodyOf(operation: Operation, document: ApiDocument): string | undefined {
  const type = contentTypeOf(operation)
  if (type === undefined || !type.includes('json')) return undefined
  return bodyToBegin(operation.requestBody!.content[type]!.schema, document)
}

function ParameterField({
  parameter: { name, in: where, required, description, schema },
  value,
  onInput,
}: {
  readonly parameter: Parameter
  readonly value: string
  readonly onInput: (value: string) => void
}) {
  const choices = choicesOf(schema)
  return (
    <label class="field" title={description}>
      <span>
        {name} {where === 'query' ? '' : `(${where})`} {required && <i>required</i>}
      </span>
      {choices ? (
        <select value={value} onChange={(event) => onInput(event.currentTarget.value)}>
          <option value="">–</option>
          {choices.map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      ) : (
        <input
          value={value}
          required={required}
          spellcheck={false}
          autocomplete="off"
          placeholder={where === 'path' && name === 'id' ? 'prod$flights' : ''}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    </label>
  )
}

function BodyField({
  body,
  operation,
  onBody,
}: {
  readonly body: string | Blob | undefined
  readonly operation: Operation
  readonly onBody: (body: string | Blob | undefined) => void
}) {
  const type = contentTypeOf(operation)!
  const isJson = type.includes('json')
  return (
    <label class="field whole">
      <span>body ({type})</span>
      {isJson ? (
        <textarea
          rows={Math.min(12, String(body).split('\n').length + 1)}
          spellcheck={false}
          value={typeof body === 'string' ? body : ''}
          onInput={(event) => onBody(event.currentTarget.value)}
        />
      ) : (
        <input type="file" onChange={(event) => onBody(event.currentTarget.files?.[0])} />
      )}
    </label>
  )
}

/** The token of this tab, which the page of the catalog has, too. */
function TokenField() {
  const [given, setGiven] = useState(token.get() ?? '')
  return (
    <label class="field">
      <span>token, kept in this tab</span>
      <input
        type="password"
        autocomplete="off"
        value={given}
        onInput={({ currentTarget: { value } }) => {
          setGiven(value)
          if (value.trim() === '') token.forget()
          else token.set(value.trim())
        }}
      />
    </label>
  )
}
