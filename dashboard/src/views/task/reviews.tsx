import type { Reply } from '../../api/call.js';
import { AgentName } from '../../components/agent-name.js';
import { TimeText } from '../../components/time-text.js';
import { UntrustedBlock } from '../../components/untrusted-text.js';

/** The decisions of people about candidates. */
export const Reviews = ({ reviews }: { reviews: Reply<'get_claim_history'>['reviews'] }) => (
  <ul>
    {reviews.map(({ generation, iteration, decision, reviewer, comment, at }) => (
      <li key={`${generation} ${iteration} ${at}`}>
        <span className={`mark ${decision === 'APPROVED' ? 'mark-good' : 'mark-warn'}`}>{decision}</span>{' '}
        generation {generation}, iteration {iteration}, by <AgentName id={reviewer} />, <TimeText at={at} />
        {comment === null ? null : <UntrustedBlock text={comment} />}
      </li>
    ))}
  </ul>
);
