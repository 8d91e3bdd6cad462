export default function InboxView() {
  return <h1>Inbox</h1>;
}
