import { type AgentStats, type ParkedIds, updateAgentStats, updateParked } from '../../core/views/index.js';
import { ProjectEventReader } from '../queue/project-event-reader.js';

/** Aggregates that only events have, not heads: statistics per agent, and parked results per subject. */
export class ProjectTallies {
  readonly agents = new Map<string, AgentStats>();
  readonly parked: ParkedIds = new Map();
  readonly reader = new ProjectEventReader((event) => {
    updateAgentStats(this.agents, event);
    updateParked(this.parked, event);
  });
}
