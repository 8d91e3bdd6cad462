import { useState } from 'react';
import { useReply } from '../../api/use-reply.js';
import { Disclosure } from '../../components/disclosure.js';
import { TaskLink } from '../../components/links.js';
import { ReadinessMark } from '../../components/readiness-mark.js';
import { QueryResult } from '../../components/states.js';
import { ResultView } from './result-view.js';

const SHOWN_STEP = 20;

/** The dependencies of a task. The result of a dependency is read when a person opens it. */
export function Dependencies({ ids }: { ids: readonly string[] }) {
  const [shownCount, setShownCount] = useState(SHOWN_STEP);
  if (ids.length === 0) return <p className="quiet">This task has no dependencies.</p>;
  return (
    <>
      <ul className="dependencies">
        {ids.slice(0, shownCount).map((id) => (
          <li key={id}>
            <Dependency id={id} />
          </li>
        ))}
      </ul>
      {ids.length > shownCount ? (
        <button type="button" onClick={() => setShownCount(shownCount + SHOWN_STEP)}>
          Show more of {ids.length}
        </button>
      ) : null}
    </>
  );
}

function Dependency({ id }: { id: string }) {
  const query = useReply('get_task_state', { params: { subject: id } });
  return (
    <>
      <TaskLink id={id} />{' '}
      <QueryResult query={query}>
        {({ readiness, result }) => (
          <>
            <ReadinessMark readiness={readiness} />
            {result === null ? null : (
              <Disclosure title={`Result of ${id}`}>
                {() => <ResultView subject={id} resultId={result.result_id} />}
              </Disclosure>
            )}
          </>
        )}
      </QueryResult>
    </>
  );
}
