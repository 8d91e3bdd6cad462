import type { MethodologyStatus } from '../../../../src/core/contract/methodology-views.js';
import { AgentName } from '../../components/agent-name.js';
import { TaskLink } from '../../components/links.js';
import { TimeText } from '../../components/time-text.js';
import { visibleText } from '../../components/untrusted-text.js';

const CLAIM_WORDS: Readonly<Record<MethodologyStatus['claims'][number]['state'], string>> = {
  held: 'works on',
  stale: 'shows no activity on',
  awaiting_human: 'waits for a review of',
  suspended: 'has suspended',
  lease_expired: 'let the lease expire on',
};

/** The next recommended edge, and where each agent is. */
export function YouAreHere({ status }: { status: MethodologyStatus }) {
  const { start_would, claims } = status;
  const { feature, edge, iteration, reasons, command } = start_would;
  return (
    <section className="card" aria-label="You are here">
      <h2>You are here</h2>
      {feature === null || edge === null ? (
        <p>{visibleText(reasons.at(-1) ?? 'There is nothing to start.')}</p>
      ) : (
        <p>
          Next: <TaskLink id={`${feature}#${edge}`} />
          {iteration === null ? null : `, iteration ${iteration}`}
        </p>
      )}
      <p>
        <code>{visibleText(command)}</code>
      </p>
      {claims.length === 0 ? <p className="quiet">No agent holds an edge.</p> : null}
      <ul className="features-agents">
        {claims.map((claim) => (
          <li key={`${claim.feature_id}#${claim.edge}`}>
            <b>
              <AgentName id={claim.agent_id} />
            </b>{' '}
            {CLAIM_WORDS[claim.state]} <TaskLink id={`${claim.feature_id}#${claim.edge}`} />{' '}
            <span className="quiet">
              generation {claim.generation}, since <TimeText at={claim.since} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
