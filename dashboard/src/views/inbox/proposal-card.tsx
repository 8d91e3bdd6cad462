import { command } from '../../api/call.js';
import { AgentName } from '../../components/agent-name.js';
import { TextBox } from '../task/blob-view.js';
import { AnswerForm, type AnswerListener } from './answer-form.js';
import type { ItemOf } from './inbox-items.js';
import { ItemFrame } from './item-frame.js';

const ANSWERS = [
  { decision: 'approve', name: 'Add to the plan', tone: 'primary' },
  { decision: 'reject', name: 'Reject', tone: 'danger' },
] as const;

/** Tasks that an agent proposed for the plan. */
export function ProposalCard({ item, onAnswered, onRefused }: { item: ItemOf<'proposal'> } & AnswerListener) {
  const { proposal_id, tasks, proposed_by } = item.proposal;
  return (
    <ItemFrame item={item} name="Proposed tasks">
      <p>
        <AgentName id={proposed_by} /> proposes {tasks.length} {tasks.length === 1 ? 'task' : 'tasks'}.
      </p>
      <TextBox text={JSON.stringify(tasks, null, 2)} name={`Tasks of ${proposal_id}`} />
      <AnswerForm
        unsentTextKey={item.key}
        operation="decide_proposal"
        answers={ANSWERS}
        send={(decision, comment) => command('decide_proposal', { proposal_id, decision, ...comment })}
        onRefused={onRefused}
        onAnswered={(name) => onAnswered(`${name}: ${proposal_id}`)}
      />
    </ItemFrame>
  );
}
