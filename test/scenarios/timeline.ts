import { Agent } from '../support/agent.js';
import type { House } from '../support/house.js';

/** The clock of a scenario, in the seeds' own words: T=0, T=5 … minutes after it began. */
export class Timeline {
  private minute = 0;

  constructor(readonly house: House) {}

  T(minute: number): void {
    if (minute < this.minute) throw new Error('a timeline only goes on');
    this.house.advance((minute - this.minute) * 60);
    this.minute = minute;
  }

  agent(agent_id: string, session_id: string, user_id: string | null = null): Agent {
    return new Agent(this.house, agent_id, session_id, user_id);
  }
}

export const minutes = (count: number) => ({ lease_duration_seconds: count * 60 });
