import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { announce } from '../hooks.ts'
import { Failure } from './failure.tsx'

interface Props {
  readonly title: string
  readonly act: string
  readonly isDangerous?: boolean
  readonly isReady?: boolean
  readonly run: () => Promise<void>
  readonly onClose: () => void
  readonly done: string
  readonly children?: ComponentChildren
}

/** Asks before something is changed. It stays open, and tells why, when that fails. */
export function Dialog({ title, act, isDangerous, isReady = true, run, onClose, done, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [error, setError] = useState<unknown>()
  const [running, setRunning] = useState(false)
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null
    dialog.current?.showModal()
    return () => before?.focus()
  }, [])
  const submit = async (event: Event) => {
    event.preventDefault()
    if (!isReady || running) return
    setRunning(true)
    setError(undefined)
    try {
      await run()
      announce(done)
      onClose()
    } catch (failure) {
      setError(failure)
      setRunning(false)
    }
  }
  return (
    <dialog ref={dialog} aria-labelledby="dialog-title" onClose={onClose}>
      <form method="dialog" onSubmit={submit}>
        <h2 id="dialog-title">{title}</h2>
        {children}
        {error !== undefined && <Failure error={error} />}
        <div class="buttons">
          <button type="button" onClick={onClose}>
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
