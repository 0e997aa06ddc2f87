import { useEffect, useRef, useState } from 'preact/hooks'

/** A form for a token, which is kept in this tab only. */
export function TokenForm({
  message,
  onGiven,
}: {
  readonly message: string
  readonly onGiven: (token: string) => void
}) {
  const [given, setGiven] = useState('')
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => field.current?.focus(), [])
  return (
    <form
      class="token"
      onSubmit={(event) => {
        event.preventDefault()
        if (given.trim() !== '') onGiven(given.trim())
      }}
    >
      <h1>Token</h1>
      <p role="alert">{message}</p>
      <label class="field">
        <span>Token or key</span>
        <input
          ref={field}
          type="password"
          autocomplete="off"
          value={given}
          onInput={(event) => setGiven(event.currentTarget.value)}
        />
      </label>
      <p class="faint">
        It is kept for this tab until you close it, and sent to this server only. Whoever runs the server
        gives it to you; <code>tabularium open</code> brings one of its own.
      </p>
      <button type="submit" class="primary">
        Go on
      </button>
    </form>
  )
}
