import { useReply } from '../../api/use-reply.js';
import { QueryResult } from '../../components/states.js';
import { adoptedIds } from '../task/generation-timeline.js';
import { SubmissionEntry } from '../task/submissions.js';
import type { ItemOf } from './inbox-items.js';
import { ItemFrame } from './item-frame.js';

const SHOWN_MAX = 5;

/** The parked results of a task, which a person can adopt. */
export function ParkedCard({ item }: { item: ItemOf<'parked'> }) {
  const params = { subject: item.task_id };
  const state = useReply('get_task_state', { params });
  const history = useReply('get_claim_history', { params });
  return (
    <ItemFrame item={item} name={item.count === 1 ? 'Parked result' : 'Parked results'} taskId={item.task_id}>
      <QueryResult query={state}>
        {(taskState) => (
          <QueryResult query={history}>
            {(lineage) => {
              const adopted = adoptedIds(lineage);
              const parked = lineage.rejected.filter(({ id, parked: isKept }) => isKept && !adopted.has(id));
              return (
                <ul className="submissions">
                  {parked.slice(-SHOWN_MAX).map((submission) => (
                    <li key={submission.id}>
                      <SubmissionEntry state={taskState} submission={submission} isAdopted={false} />
                    </li>
                  ))}
                </ul>
              );
            }}
          </QueryResult>
        )}
      </QueryResult>
    </ItemFrame>
  );
}
