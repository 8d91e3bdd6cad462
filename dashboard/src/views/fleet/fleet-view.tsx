import { useReply } from '../../api/use-reply.js';
import { Replied } from '../../components/states.js';

export function FleetView() {
  const status = useReply('status');
  return (
    <>
      <h1>Fleet</h1>
      <Replied asked={status}>
        {({ total }) => (
          <p>
            {total.completed} of {total.completed + total.in_progress + total.pending} done
          </p>
        )}
      </Replied>
    </>
  );
}
