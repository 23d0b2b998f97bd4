"""Names of months in the languages of telling names, as dates write them."""

from __future__ import annotations

from kdissect.personal.telling_names import words_of

# Of each language the months from January on. A short form is the begin of a name, of at least three letters.
_NAMES = (
    "january february march april may june july august september october november december",
    "januar februar märz april mai juni juli august september oktober november dezember",
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia",
    "januari februari maart april mei juni juli augustus september oktober november december",
    "januari februari mars april maj juni juli augusti september oktober november december",
    "tammikuuta helmikuuta maaliskuuta huhtikuuta toukokuuta kesäkuuta heinäkuuta elokuuta syyskuuta "
    "lokakuuta marraskuuta joulukuuta",
    "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "ledna února března dubna května června července srpna září října listopadu prosince",
    "januára februára marca apríla mája júna júla augusta septembra októbra novembra decembra",
    "januar februar marts april maj juni juli august september oktober november december",
    "ianuarie februarie martie aprilie mai iunie iulie august septembrie octombrie noiembrie decembrie",
    "január február március április május június július augusztus szeptember október november december",
    "siječnja veljače ožujka travnja svibnja lipnja srpnja kolovoza rujna listopada studenoga prosinca",
    "januarja februarja marca aprila maja junija julija avgusta septembra oktobra novembra decembra",
    "януари февруари март април май юни юли август септември октомври ноември декември",
    "ιανουαρίου φεβρουαρίου μαρτίου απριλίου μαΐου ιουνίου ιουλίου αυγούστου σεπτεμβρίου οκτωβρίου "
    "νοεμβρίου δεκεμβρίου",
    "ocak şubat mart nisan mayıs haziran temmuz ağustos eylül ekim kasım aralık",
    "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
    "січня лютого березня квітня травня червня липня серпня вересня жовтня листопада грудня",
    "jaanuar veebruar märts aprill mai juuni juuli august september oktoober november detsember",
    "janvāris februāris marts aprīlis maijs jūnijs jūlijs augusts septembris oktobris novembris decembris",
    "sausio vasario kovo balandžio gegužės birželio liepos rugpjūčio rugsėjo spalio lapkričio gruodžio",
    "januarie februarie maart april mei junie julie augustus september oktober november desember",
    "janúar febrúar mars apríl maí júní júlí ágúst september október nóvember desember",
    "januari februari mac april mei jun julai ogos september oktober november disember",
    "gener febrer març abril maig juny juliol agost setembre octubre novembre desembre",
    "styczeń luty marzec kwiecień maj czerwiec lipiec sierpień wrzesień październik listopad grudzień",
    "leden únor březen duben květen červen červenec srpen září říjen listopad prosinec",
    "siječanj veljača ožujak travanj svibanj lipanj srpanj kolovoz rujan listopad studeni prosinac",
    "ιανουάριος φεβρουάριος μάρτιος απρίλιος μάιος ιούνιος ιούλιος αύγουστος σεπτέμβριος οκτώβριος "
    "νοέμβριος δεκέμβριος",
    "январь февраль март апрель май июнь июль август сентябрь октябрь ноябрь декабрь",
    "січень лютий березень квітень травень червень липень серпень вересень жовтень листопад грудень",
    "sausis vasaris kovas balandis gegužė birželis liepa rugpjūtis rugsėjis spalis lapkritis gruodis",
    "ינואר פברואר מרץ אפריל מאי יוני יולי אוגוסט ספטמבר אוקטובר נובמבר דצמבר",
    "januari februari maret april mei juni juli agustus september oktober november desember",
)
_SHORTEST = 3


def _begins() -> dict[str, frozenset[int]]:
    """Return the months that each begin of a name may be: `lis` is October in Croatia, November in Poland."""
    made: dict[str, set[int]] = {}
    for names in _NAMES:
        for number, name in enumerate(words_of(names, len(names)).split(), 1):
            for end in range(_SHORTEST, len(name) + 1):
                made.setdefault(name[:end], set()).add(number)
    return {begin: frozenset(numbers) for begin, numbers in made.items()}


_BEGINS = _begins()


def months_of(name: str) -> frozenset[int]:
    """Return the months that a name, or the begin of one, may be."""
    return _BEGINS.get(words_of(name), frozenset())
