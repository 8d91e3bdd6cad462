import { type AgentStats, type ParkedIds, updateAgentStats, updateParked } from '../../core/views/index.js';
import { ProjectEventReader } from '../project-event-reader.js';

/** What only the events tell and no head keeps: what each agent did, how much refused work is kept. */
export class ProjectTallies {
  readonly agents = new Map<string, AgentStats>();
  readonly parked: ParkedIds = new Map();
  readonly reader = new ProjectEventReader((event) => {
    updateAgentStats(this.agents, event);
    updateParked(this.parked, event);
  });
}
