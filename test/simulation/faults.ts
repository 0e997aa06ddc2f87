import { type Fleet, numbered } from './fleet.ts'
import { degradedRates, type FaultRates, outageRates, usualRates } from './network.ts'
import type { Fault, FaultKind } from './script.ts'

/** Longer than a lease. */
const jump = 70_000

const effects: Readonly<Record<FaultKind, (fleet: Fleet, fault: Fault) => void>> = {
  pause({ servers, scheduler }, { whom, millis }) {
    numbered(servers, whom).actor.pausedUntil = scheduler.now + millis
  },
  stall({ servers, network }, { whom, millis }) {
    network.stalls.set(numbered(servers, whom).machine, millis)
  },
  kill(fleet, { whom, millis }) {
    fleet.kill(numbered(fleet.servers, whom), millis)
  },
  crash(fleet, { whom, millis }) {
    fleet.crash(numbered(fleet.servers, whom).machine, millis)
  },
  'clock step'({ machines }, { whom, millis }) {
    numbered(machines, whom).offset += millis
  },
  /** The clock is wrong, and corrected soon. */
  'clock jump'({ machines, scheduler }, { whom, millis }) {
    const machine = numbered(machines, whom)
    machine.offset += jump
    scheduler.after(scheduler.environment, millis, 'clock back', () => {
      machine.offset -= jump
    })
  },
  'degraded network': (fleet, { millis }) => setRates(fleet, degradedRates, millis),
  'network outage': (fleet, { millis }) => setRates(fleet, outageRates, millis),
  'pause service'({ services, scheduler }, { whom, millis }) {
    if (services.length > 0) numbered(services, whom).pausedUntil = scheduler.now + millis
  },
}

/** Injects the faults of a script, and returns when the last of them is over. */
export function plan(fleet: Fleet, faults: readonly Fault[]): number {
  const { scheduler } = fleet
  let end = scheduler.now
  for (const fault of faults) {
    end = Math.max(end, scheduler.now + fault.at + Math.abs(fault.millis))
    scheduler.after(scheduler.environment, fault.at, `fault: ${fault.kind} ${fault.whom}`, () =>
      effects[fault.kind](fleet, fault),
    )
  }
  return end
}

function setRates({ network, scheduler }: Fleet, rates: FaultRates, millis: number): void {
  network.rates = rates
  scheduler.after(scheduler.environment, millis, 'usual network', () => {
    network.rates = usualRates
  })
}
