import { useQuery } from '@tanstack/react-query';
import { call, type Reply } from '../../api/call.js';
import { useReply } from '../../api/use-reply.js';
import { Disclosure } from '../../components/disclosure.js';
import { QueryResult } from '../../components/states.js';
import { FileList } from '../task/file-list.js';
import { contentOf, filesOf, type ResultContent } from '../task/result-content.js';
import { ContentDifference, ContentView, useResult } from '../task/result-view.js';

type Review = Reply<'pending_reviews'>['reviews'][number];

/** The last accepted result, even if the work was reset since. It stays the same while the candidate waits. */
const useLastAccepted = ({ task_id, generation }: Review) =>
  useQuery({
    queryKey: ['last accepted', task_id, generation],
    queryFn: async () => {
      const params = { subject: task_id };
      const { results } = await call('list_results', { params, query: { limit: 1000 } });
      return results.findLast(({ accepted }) => accepted)?.id ?? null;
    },
    meta: { isFixed: true },
  });

/** The files or the data of a candidate, beside those that were accepted before. */
export function Candidate({ review }: { review: Review }) {
  const last = useLastAccepted(review);
  return (
    <QueryResult query={last}>{(id) => <CandidateContent review={review} acceptedId={id} />}</QueryResult>
  );
}

function CandidateContent({ review, acceptedId }: { review: Review; acceptedId: string | null }) {
  const { task_id, files, file_count } = review;
  return (
    <QueryResult query={useResult(task_id, acceptedId)}>
      {(accepted) =>
        files === null ? (
          <Disclosure title="The candidate">
            {() => <CandidateData review={review} accepted={accepted && contentOf(accepted)} />}
          </Disclosure>
        ) : (
          <>
            <FileList files={files} accepted={accepted && filesOf(accepted.result_data)} />
            {file_count > files.length ? (
              <p className="quiet">{file_count - files.length} more files.</p>
            ) : null}
          </>
        )
      }
    </QueryResult>
  );
}

/** The data of a candidate. An escalated submission has its data in the log. Otherwise the digest may name a blob. */
function CandidateData({ review, accepted }: { review: Review; accepted: ResultContent | null }) {
  const { task_id, candidate_sha256 } = review;
  const type = task_id.includes('#') ? 'convergence_escalated' : 'RESULT_ESCALATED';
  const query = useReply('events', { query: { task_id, type, limit: 1000 } });
  return (
    <QueryResult query={query}>
      {({ events }) => {
        const payload = events.findLast((event) => event.payload.sha256 === candidate_sha256)?.payload;
        const blob = typeof payload?.blob_sha256 === 'string' ? payload.blob_sha256 : null;
        const content: ResultContent =
          payload === undefined
            ? { kind: 'blob', sha256: candidate_sha256 }
            : contentOf({ result_data: payload.result_data, blob_sha256: blob });
        return (
          <>
            <ContentView content={content} name={`Candidate of ${task_id}`} />
            {accepted ? (
              <Disclosure title="Difference to the accepted result">
                {() => <ContentDifference accepted={accepted} other={content} />}
              </Disclosure>
            ) : null}
          </>
        );
      }}
    </QueryResult>
  );
}
