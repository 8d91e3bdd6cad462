import { HarnessAgent } from '../support/agent.js';
import type { CoordinatorHarness } from '../support/coordinator-harness.js';

/** The clock of a scenario, in the notation of the specifications: T=0, T=5 … minutes after the start. */
export class Timeline {
  private minute = 0;

  constructor(readonly harness: CoordinatorHarness) {}

  T(minute: number): void {
    if (minute < this.minute) throw new Error(`T=${minute} is before T=${this.minute}.`);
    this.harness.advance((minute - this.minute) * 60);
    this.minute = minute;
  }

  agent(agentId: string, sessionId: string, userId: string | null = null): HarnessAgent {
    return new HarnessAgent(this.harness, agentId, sessionId, userId);
  }
}

export const minutes = (count: number) => ({ lease_duration_seconds: count * 60 });
