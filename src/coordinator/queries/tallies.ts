import { type AgentTally, keepParked, type ParkedIds, tallyAgent } from '../../core/views/index.js';
import { Reader } from '../reader.js';

/** What only the events tell and no head keeps: what each agent did, how much refused work is kept. */
export class Tallies {
  readonly agents = new Map<string, AgentTally>();
  readonly parked: ParkedIds = new Map();
  readonly reader = new Reader((event) => {
    tallyAgent(this.agents, event);
    keepParked(this.parked, event);
  });
}
