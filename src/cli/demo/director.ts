import type { EventEnvelope } from '../../core/events/envelope.js';
import type { Running } from './fleet.js';

/** What was done to the fleet. */
export interface Cast {
  /** Killed in the middle of its work. */
  killed: { readonly agent: Running; readonly task_id: string; readonly generation: number } | null;
  /** Frozen past its lease, and revived when its work was somebody else's. */
  zombie: { readonly agent: Running; readonly task_id: string; readonly generation: number } | null;
  revived: boolean;
}

/** How far the plan is when things begin to go wrong. */
const KILL_AFTER_RESULTS = 2;
const FREEZE_AFTER_RESULTS = 4;

/**
 * Does to the fleet what life does, at moments that the event stream shows: kills one agent in the middle of its
 * work, freezes another, and revives it only when its successor is done.
 */
export class Director {
  readonly cast: Cast = { killed: null, zombie: null, revived: false };
  private results = 0;

  constructor(
    private readonly agents: readonly Running[],
    private readonly say: (line: string) => void,
  ) {}

  see(event: EventEnvelope): void {
    if (event.event_type === 'RESULT_SUBMITTED') this.results += 1;
    if (event.event_type === 'NOTE_ADDED') this.atWork(event);
    const { zombie, revived } = this.cast;
    const isSuccessors = event.subject === zombie?.task_id && event.agent_id !== zombie?.agent.name;
    if (zombie !== null && !revived && isSuccessors && event.event_type === 'RESULT_SUBMITTED') {
      zombie.agent.process.kill('SIGCONT');
      letEnd(zombie.agent);
      this.cast.revived = true;
      this.say(
        `${zombie.agent.name} wakes up (SIGCONT) and believes that ${zombie.task_id} is still its own`,
      );
    }
  }

  /** Whoever says so has its work in hand, and not just on the way. */
  private atWork({ agent_id, subject: task_id = '', generation = 0 }: EventEnvelope): void {
    const agent = this.agents.find(({ name }) => name === agent_id);
    if (agent !== undefined && !this.strikes(agent, task_id, generation)) letEnd(agent);
  }

  private strikes(agent: Running, task_id: string, generation: number): boolean {
    // Who is to be missed should have begun something that others must finish, not a takeover itself.
    if (generation !== 1) return false;
    const { cast } = this;
    if (cast.killed === null && this.results >= KILL_AFTER_RESULTS) {
      cast.killed = { agent, task_id, generation };
      agent.process.kill('SIGKILL');
      this.say(`${agent.name} dies in the middle of ${task_id} (SIGKILL)`);
      return true;
    }
    if (cast.killed !== null && cast.zombie === null && this.results >= FREEZE_AFTER_RESULTS) {
      cast.zombie = { agent, task_id, generation };
      agent.process.kill('SIGSTOP');
      this.say(`${agent.name} freezes in the middle of ${task_id} (SIGSTOP)`);
      return true;
    }
    return false;
  }
}

/** It was seen at work, and may end what it began. */
const letEnd = ({ process }: Running): void => void process.stdin?.write('seen\n');
