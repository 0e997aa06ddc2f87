import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { announce } from '../hooks.ts'
import { Failure } from './failure.tsx'

interface Props {
  readonly title: string
  readonly act: string
  readonly isDangerous?: boolean
  readonly isReady?: boolean
  readonly run: () => Promise<unknown>
  /** Called after success, even if this dialog is gone by then. */
  readonly changed: () => void
  /** Called after `changed`, unless the user has navigated away. */
  readonly onDone?: () => void
  readonly onClose: () => void
  readonly done: string
  readonly children?: ComponentChildren
}

/** Confirms a change. It stays open until the change is done, and shows the error of a failure. */
export function Dialog(props: Props) {
  const { title, act, isDangerous, isReady = true, run, changed, onDone, onClose, done, children } = props
  const dialog = useRef<HTMLDialogElement>(null)
  const [error, setError] = useState<unknown>()
  const [running, setRunning] = useState(false)
  const isMounted = useRef(true)
  useLayoutEffect(() => {
    const before = document.activeElement as HTMLElement | null
    dialog.current?.showModal()
    return () => {
      isMounted.current = false
      before?.focus()
    }
  }, [])
  const submit = async (event: Event) => {
    event.preventDefault()
    if (!isReady || running) return
    setRunning(true)
    setError(undefined)
    try {
      await run()
    } catch (failure) {
      if (!isMounted.current) announce(failure instanceof Error ? failure.message : String(failure))
      setError(failure)
      setRunning(false)
      return
    }
    announce(done)
    changed()
    if (!isMounted.current) return
    onClose()
    onDone?.()
  }
  return (
    // Escape closes a dialog. While a change runs, it reopens, since it must show the outcome.
    <dialog
      ref={dialog}
      aria-labelledby="dialog-title"
      onClose={() => (running ? dialog.current?.showModal() : onClose())}
    >
      <form method="dialog" onSubmit={submit}>
        <h2 id="dialog-title">{title}</h2>
        {children}
        {error !== undefined && <Failure error={error} />}
        <div class="buttons">
          <button type="button" disabled={running} onClick={onClose}>
            Leave it
          </button>
          <button type="submit" class={isDangerous ? 'danger' : 'primary'} disabled={!isReady || running}>
            {act}
          </button>
        </div>
      </form>
    </dialog>
  )
}

/** A field of a form, with its label. */
export function Field(props: {
  readonly label: string
  readonly value: string
  readonly onInput: (value: string) => void
  readonly lines?: number
  readonly placeholder?: string
}) {
  const { label, value, onInput, lines, placeholder } = props
  return (
    <label class="field">
      <span>{label}</span>
      {lines ? (
        <textarea
          rows={lines}
          value={value}
          placeholder={placeholder}
          spellcheck={false}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      ) : (
        <input
          value={value}
          placeholder={placeholder}
          spellcheck={false}
          autocomplete="off"
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    </label>
  )
}
