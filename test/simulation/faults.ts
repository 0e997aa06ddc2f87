import { type Fleet, numbered } from './fleet.ts'
import { fair, foul, storm, type Weather } from './network.ts'
import type { Fault, FaultKind } from './script.ts'

/** Longer than a lease. */
const leap = 70_000

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
  'step clock'({ machines }, { whom, millis }) {
    numbered(machines, whom).offset += millis
  },
  /** The clock is wrong, and corrected soon. */
  'leap of clock'({ machines, scheduler }, { whom, millis }) {
    const machine = numbered(machines, whom)
    machine.offset += leap
    scheduler.after(scheduler.nature, millis, 'clock back', () => {
      machine.offset -= leap
    })
  },
  'foul weather': (fleet, { millis }) => becomes(fleet, foul, millis),
  storm: (fleet, { millis }) => becomes(fleet, storm, millis),
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
    scheduler.after(scheduler.nature, fault.at, `fault: ${fault.kind} ${fault.whom}`, () =>
      effects[fault.kind](fleet, fault),
    )
  }
  return end
}

function becomes({ network, scheduler }: Fleet, weather: Weather, millis: number): void {
  network.weather = weather
  scheduler.after(scheduler.nature, millis, 'fair weather', () => {
    network.weather = fair
  })
}
