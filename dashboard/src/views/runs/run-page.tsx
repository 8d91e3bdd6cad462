export default function RunPage({ id }: { id: string }) {
  return <h1>{id}</h1>;
}
