import type { EventEnvelope } from '../../core/events/envelope.js';
import type { DemoProcess } from './fleet.js';

/** What was done to the fleet. */
export interface InjectedFaults {
  /** Killed in the middle of its work. */
  killed: { readonly agent: DemoProcess; readonly task_id: string; readonly generation: number } | null;
  /** Frozen past its lease, and revived when its work was somebody else's. */
  zombie: { readonly agent: DemoProcess; readonly task_id: string; readonly generation: number } | null;
  isRevived: boolean;
}

/** How far the plan is when things begin to go wrong. */
const KILL_AFTER_RESULTS = 2;
const FREEZE_AFTER_RESULTS = 4;

/**
 * Does to the fleet what life does, at moments that the event stream shows: kills one agent in the middle of its
 * work, freezes another, and revives it only when its successor is done.
 */
export class FaultInjector {
  readonly faults: InjectedFaults = { killed: null, zombie: null, isRevived: false };
  private results = 0;

  constructor(
    private readonly agents: readonly DemoProcess[],
    private readonly narrate: (line: string) => void,
  ) {}

  onEvent(event: EventEnvelope): void {
    if (event.event_type === 'RESULT_SUBMITTED') this.results += 1;
    if (event.event_type === 'NOTE_ADDED') this.onWorkStarted(event);
    const { zombie, isRevived } = this.faults;
    const isSuccessors = event.subject === zombie?.task_id && event.agent_id !== zombie?.agent.name;
    if (zombie !== null && !isRevived && isSuccessors && event.event_type === 'RESULT_SUBMITTED') {
      zombie.agent.process.kill('SIGCONT');
      allowFinish(zombie.agent);
      this.faults.isRevived = true;
      this.narrate(
        `${zombie.agent.name} wakes up (SIGCONT) and believes that ${zombie.task_id} is still its own`,
      );
    }
  }

  /** Whoever says so has its work in hand, and not just on the way. */
  private onWorkStarted({ agent_id, subject: taskId = '', generation = 0 }: EventEnvelope): void {
    const agent = this.agents.find(({ name }) => name === agent_id);
    if (agent !== undefined && !this.injectsFault(agent, taskId, generation)) allowFinish(agent);
  }

  private injectsFault(agent: DemoProcess, task_id: string, generation: number): boolean {
    // Who is to be missed should have begun something that others must finish, not a takeover itself.
    if (generation !== 1) return false;
    const { faults } = this;
    if (faults.killed === null && this.results >= KILL_AFTER_RESULTS) {
      faults.killed = { agent, task_id, generation };
      agent.process.kill('SIGKILL');
      this.narrate(`${agent.name} dies in the middle of ${task_id} (SIGKILL)`);
      return true;
    }
    if (faults.killed !== null && faults.zombie === null && this.results >= FREEZE_AFTER_RESULTS) {
      faults.zombie = { agent, task_id, generation };
      agent.process.kill('SIGSTOP');
      this.narrate(`${agent.name} freezes in the middle of ${task_id} (SIGSTOP)`);
      return true;
    }
    return false;
  }
}

/** It was seen at work, and may end what it began. */
const allowFinish = ({ process }: DemoProcess): void => void process.stdin?.write('seen\n');
