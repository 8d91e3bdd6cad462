import { setTimeout as sleep } from 'node:timers/promises';
import { sha256Hex } from '../../src/coordinator/identity.js';
import { canonicalJson } from '../../src/core/canonical-json.js';
import type { Rng } from '../world/rng.js';
import type { Board } from './board.js';
import { type Door, resultData } from './door.js';
import type { Answer, Asked, Operation, Recorder } from './history.js';

const LEASE_SECONDS = 1;
const LEASE_MS = LEASE_SECONDS * 1000;
/** As often a request is sent before its client gives up on it. */
const ATTEMPTS_MAX = 12;
const GIVES_UP_CHANCE = 0.1;
/** How long it waits for an answer: longer each time, since a slow machine has none for the impatient. */
const patienceMs = (attempt: number): number => Math.min(2500 * 2 ** (attempt - 1), 60_000);
const SWITCHES_CHANCE = 0.1;

/** What a holder does with its work in the end; `outstay` acts when the lease is over, as a zombie does. */
const ENDINGS = { release: 50, submit: 12, vanish: 13, outstay: 25 } as const;
const ZOMBIE_ENDINGS = { release: 5, submit: 5, vanish: 10, outstay: 80 } as const;

export interface Scene {
  readonly recorder: Recorder;
  readonly board: Board;
  readonly doors: readonly Door[];
  readonly stop: AbortSignal;
}

interface Held {
  readonly subject: string;
  readonly generation: number;
  readonly claim_id: string;
}

/** An agent that works badly on purpose: it asks for what others have, comes late, repeats itself and changes doors. */
export class Client {
  private door: number;
  private requests = 0;

  constructor(
    private readonly scene: Scene,
    private readonly name: string,
    private readonly rng: Rng,
    private readonly is_zombie: boolean,
  ) {
    this.door = rng.int(scene.doors.length);
  }

  async live(): Promise<void> {
    while (!this.scene.stop.aborted) {
      const subject = this.scene.board.pick(this.rng);
      const answer = await this.ask('claim', subject, null);
      if (answer.kind === 'ok') await this.work(heldBy(subject, answer));
      await this.pause(this.rng.exponential(40));
    }
  }

  private async work(held: Held): Promise<void> {
    for (let renewals = this.rng.int(4); renewals > 0; renewals -= 1) {
      await this.pause(this.rng.between(0, LEASE_MS * 0.4));
      if ((await this.ask('renew', held.subject, held)).kind === 'refused') break;
    }
    const ending = this.rng.weighted(this.is_zombie ? ZOMBIE_ENDINGS : ENDINGS);
    if (ending === 'vanish') return;
    if (ending !== 'outstay') {
      await this.pause(this.rng.between(0, LEASE_MS * 0.3));
      await this.ask(ending, held.subject, held);
      return;
    }
    await this.pause(this.rng.between(LEASE_MS * 0.9, LEASE_MS * 2.2));
    const acts: Operation[] = ['renew', 'submit', 'release'];
    for (let left = 1 + this.rng.int(2); left > 0; left -= 1) {
      await this.ask(this.rng.pick(acts), held.subject, held);
    }
  }

  /** Asks until there is an answer that says yes or no, with one request id throughout. */
  private async ask(operation: Operation, subject: string, held: Held | null): Promise<Answer> {
    const asked = this.asked(operation, subject, held);
    for (let attempt = 1; ; attempt += 1) {
      if (this.rng.chance(SWITCHES_CHANCE)) this.switchDoor();
      const door = this.scene.doors[this.door] as Door;
      const answer = await this.scene.recorder.call(asked, door.name, () =>
        door.ask(asked, patienceMs(attempt)),
      );
      if (answer.kind === 'ok' || answer.kind === 'refused') {
        this.scene.board.learn(asked, answer);
        return answer;
      }
      const gives_up = attempt === ATTEMPTS_MAX || this.rng.chance(GIVES_UP_CHANCE);
      if (gives_up || this.scene.stop.aborted) return answer;
      this.switchDoor();
      await this.pause(this.rng.between(20, 100 * attempt));
    }
  }

  private asked(operation: Operation, subject: string, held: Held | null): Asked {
    this.requests += 1;
    const request_id = `${this.name}-${this.requests}`;
    const has_lease = operation === 'claim' || operation === 'renew';
    return {
      operation,
      request_id,
      subject,
      agent_id: this.name,
      session_id: `session-${this.name}`,
      generation: held?.generation ?? null,
      claim_id: held?.claim_id ?? null,
      lease_seconds: has_lease ? LEASE_SECONDS : null,
      sha256: operation === 'submit' ? sha256Hex(canonicalJson(resultData(request_id))) : null,
    };
  }

  private switchDoor(): void {
    this.door = this.rng.int(this.scene.doors.length);
  }

  private async pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.scene.stop }).catch(() => {});
  }
}

function heldBy(subject: string, answer: Answer & { kind: 'ok' }): Held {
  const { generation = 0, claim_id = '' } = answer.told;
  return { subject, generation, claim_id };
}
